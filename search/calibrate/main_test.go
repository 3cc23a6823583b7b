package calibrate_test

import (
	"os"
	"testing"

	"github.com/colltune/colltune/internal/child"
)

func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}
