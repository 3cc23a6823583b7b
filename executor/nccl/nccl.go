package nccl

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/nccl/nccltests"
)

// Name is what the back end is called.
const Name = "nccl"

// Register makes the back end known, with what can be set for it and what doctor
// says of it.
func Register() {
	executor.RegisterBuiltin(Name, New)
	executor.RegisterSettings(Name, registered)
	executor.RegisterDoctor(Name, Examine)
}

// New makes the back end that the settings of this process describe.
func New() executor.Executor {
	s, err := readSettings(executor.Setting, executor.Launcher())
	if err != nil {
		return refusing{err}
	}
	return newLaunched(*s)
}

func newLaunched(s settings) *launched {
	return &launched{settings: s, took: map[string]error{}, swept: map[string][]nccltests.Row{}}
}

// refusing is a back end that can't be had, and says why.
type refusing struct{ why error }

func (r refusing) Describe(context.Context) (executor.Description, error) {
	return executor.Description{}, r.why
}

func (r refusing) Run(context.Context, executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{}, r.why
}

// Examine tells what of it is on this machine. The settings are the executor's
// own: here only what a PATH shows can be seen.
func Examine() []executor.Finding {
	var all []executor.Finding
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
