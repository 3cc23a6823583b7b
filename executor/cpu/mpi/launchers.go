package mpi

import (
	"os/exec"
	"strconv"
)

// Launcher is an MPI's command for starting processes on this machine.
type Launcher struct {
	Name  string
	Says  string // what its library calls itself
	flags []string
}

// Launchers are those that tests look for.
var Launchers = []Launcher{
	{"mpirun.openmpi", "Open MPI", []string{"--allow-run-as-root", "--oversubscribe"}},
	{"mpirun.mpich", "MPICH", nil},
}

// Command is the launcher's command line for so many processes, to which a command
// is appended. It is an error if the launcher is not there.
func (l Launcher) Command(processes int) ([]string, error) {
	path, err := exec.LookPath(l.Name)
	if err != nil {
		return nil, err
	}
	return append(append([]string{path}, l.flags...), "-np", strconv.Itoa(processes)), nil
}
