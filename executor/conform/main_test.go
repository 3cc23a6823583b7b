package conform_test

import (
	"testing"

	"github.com/colltune/colltune/executor/executortest"
)

func TestMain(m *testing.M) { executortest.Main(m) }
