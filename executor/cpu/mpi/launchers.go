package mpi

import (
	"os/exec"
	"strconv"
)

// Launcher is an MPI's command that starts processes on this machine.
type Launcher struct {
	Name  string
	Says  string // what its library calls itself
	flags []string
}

// Launchers are those that the tests look for.
var Launchers = []Launcher{
	{"mpirun.openmpi", "Open MPI", []string{"--allow-run-as-root", "--oversubscribe"}},
	{"mpirun.mpich", "MPICH", nil},
}

// Command is the launcher's for so many processes, to which a command is
// appended. The error says that it is not there.
func (l Launcher) Command(processes int) ([]string, error) {
	path, err := exec.LookPath(l.Name)
	if err != nil {
		return nil, err
	}
	return append(append([]string{path}, l.flags...), "-np", strconv.Itoa(processes)), nil
}
