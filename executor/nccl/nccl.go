package nccl

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/nccl/nccltests"
)

// Name is the executor's name.
const Name = "nccl"

// Register registers the executor, its settings, and Examine for doctor.
func Register() {
	executor.RegisterBuiltin(Name, New)
	executor.RegisterSettings(Name, registered)
	executor.RegisterDoctor(Name, Examine)
}

// New returns the executor that the settings of this process describe. Wrong settings are
// the error of its Describe.
func New() executor.Executor {
	s, err := readSettings(executor.Setting, executor.Launcher())
	if err != nil {
		return refusing{err}
	}
	if s.tests == "" {
		return newOneHost(*s)
	}
	return newLaunched(*s)
}

func newOneHost(s settings) *oneHost { return &oneHost{settings: s, confirmed: map[string]error{}} }

func newLaunched(s settings) *launched {
	return &launched{settings: s, confirmed: map[string]error{}, swept: map[string][]nccltests.Row{}}
}

// refusing stands in for an executor with wrong settings, and returns their error.
type refusing struct{ why error }

func (r refusing) Describe(context.Context) (executor.Description, error) {
	return executor.Description{}, r.why
}

func (r refusing) Run(context.Context, executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{}, r.why
}

// Examine looks for the library, nccl-tests and launchers on this machine. It does not know
// the executor's settings, and looks where the linker and PATH lead.
func Examine() []executor.Finding {
	all := []executor.Finding{examineLibrary()}
	for _, program := range []string{nccltests.Program("allreduce"), "mpirun", "srun"} {
		f := executor.Finding{What: program}
		path, err := exec.LookPath(program)
		f.Found, f.Detail = err == nil, path
		if err != nil {
			f.Detail = "not on PATH"
			if program == nccltests.Program("allreduce") {
				f.Detail = fmt.Sprintf("not on PATH: tests in [executor.%s] names the folder of nccl-tests' programs", Name)
			}
		}
		all = append(all, f)
	}
	return all
}

// examineTimeout is how long doctor waits for the library.
const examineTimeout = 5 * time.Second

// examineLibrary loads the library in a process of its own, which may crash.
func examineLibrary() executor.Finding {
	ctx, cancel := context.WithTimeout(context.Background(), examineTimeout)
	defer cancel()
	f := executor.Finding{What: "libnccl or librccl"}
	l, err := lookInChild(ctx, "")
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.Found, f.Detail = true, l.Name+" "+l.Version
	if len(l.Devices) > 0 {
		f.Detail += ", " + l.Driver + ", " + countNames(l.Devices)
	} else {
		f.Detail += "; no device: " + l.NoDevices
	}
	return f
}
