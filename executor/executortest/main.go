//go:build unix

package executortest

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/internal/ending"
	"github.com/colltune/colltune/executor/serve"
)

// Launchers of tests are waited for however busy the machine is, and so are executors
// that were told to end.
func init() { ending.Terminate, ending.Shutdown = 20*time.Second, 20*time.Second }

// The tests' own process adopts no orphans, or it would end what the hosts and the
// executors that tests start are to end themselves.
func init() {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.") {
		ending.Adopt = func() {}
	}
}

// Main is a TestMain. It registers every faulty executor as a built-in and, in the processes
// that tests start, runs the one that the arguments name; "host…" is a host to be killed.
func Main(m *testing.M) {
	for name, f := range faults {
		executor.RegisterBuiltin(name, func() executor.Executor {
			if f.early != nil {
				f.early()
			}
			return fake{f.run, f.none}
		})
	}
	if len(os.Args) == 3 && os.Args[1] == "executor-serve" && strangers[os.Args[2]] != nil {
		strangers[os.Args[2]]()
	}
	for name := range strangers {
		executor.RegisterBuiltin(name, func() executor.Executor { return nil })
	}
	if d, err := time.ParseDuration(os.Getenv(Silence)); err == nil {
		ending.Silence = d
	}
	serve.Dispatch(os.Args)
	if len(os.Args) == 2 && os.Args[1] == "eat" {
		_, _ = eat()
	}
	if len(os.Args) == 4 && escaping[os.Args[1]] != nil {
		escaping[os.Args[1]](os.Args[2], os.Args[3])
		os.Exit(0)
	}
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "host") {
		name := "leaves-a-child"
		switch os.Args[1] {
		case "host-of-launched":
			name = "far-children"
		case "host-of-minding":
			name = "far-minds"
		}
		hostToBeKilled(os.Args[2], os.Args[1] == "host-of-frozen", name)
	}
	// Most of these tests wait for deadlines, which takes no processor.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}
