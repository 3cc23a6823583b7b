package script

import (
	"os"
	"testing"

	"github.com/colltune/colltune/internal/child"
)

// TestMain lets the test binary be the child that evaluates a template.
func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	if os.Getenv(asParent) != "" {
		runWithoutEnd()
	}
	os.Exit(m.Run())
}
