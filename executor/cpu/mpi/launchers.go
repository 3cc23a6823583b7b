package mpi

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"
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

// startTime is how long a launcher may take to start nothing.
const startTime = 2 * time.Minute

// Command is the launcher's command line for n processes, to which a command
// is appended. It is an error if the launcher is not there, or starts nothing here:
// Open MPI's wants a network, though all be on one machine.
func (l Launcher) Command(processes int) ([]string, error) {
	path, err := exec.LookPath(l.Name)
	if err != nil {
		return nil, err
	}
	words := append([]string{path}, l.flags...)
	limit, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	if said, err := exec.CommandContext(limit, path, append(words[1:], "-np", "1", "true")...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s starts nothing here: %w\n%s", l.Name, err, said)
	}
	return append(words, "-np", strconv.Itoa(processes)), nil
}
