package synth

import (
	"os"
	"runtime"
	"testing"

	"github.com/colltune/colltune/internal/child"
)

// slowMachine is the variable that makes a test's solvers run as on a machine with three
// other busy processes.
const slowMachine = "COLLTUNE_TEST_SLOW"

func TestMain(m *testing.M) {
	if os.Getenv(slowMachine) != "" {
		runtime.GOMAXPROCS(1)
		for range 3 {
			go func() {
				for turn := 0; ; turn++ {
					_ = turn
				}
			}()
		}
	}
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}
