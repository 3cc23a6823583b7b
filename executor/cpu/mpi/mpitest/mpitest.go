package mpitest

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// Launcher is an MPI's command for starting processes on this machine.
type Launcher struct {
	Name  string // of the command
	Says  string // its library's name for itself
	flags []string
}

// Launchers are the launchers of Open MPI and MPICH.
var Launchers = []Launcher{
	{"mpirun.openmpi", "Open MPI", []string{"--allow-run-as-root", "--oversubscribe"}},
	{"mpirun.mpich", "MPICH", nil},
}

// startTime is how long a launcher may take to start nothing.
const startTime = 2 * time.Minute

// Command returns the launcher's command line for n processes, to which a command is to be
// appended. The error is that the launcher is not on PATH, or starts no process here: Open
// MPI's needs a network, even on one machine.
func (l Launcher) Command(n int) ([]string, error) {
	path, err := exec.LookPath(l.Name)
	if err != nil {
		return nil, err
	}
	words := append([]string{path}, l.flags...)
	limit, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	if output, err := exec.CommandContext(limit, path, append(words[1:], "-np", "1", "true")...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s starts nothing here: %w\n%s", l.Name, err, output)
	}
	return append(words, "-np", strconv.Itoa(n)), nil
}
