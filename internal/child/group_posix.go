//go:build unix && !linux

package child

import (
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Self returns the path of this binary, or the error of os.Executable.
func Self() (string, error) { return os.Executable() }

// spawn starts a process at the head of a group.
func spawn(cmd *exec.Cmd, _ bool) error {
	ownGroup(cmd)
	return cmd.Start()
}

// awaitEnd polls, since no system call waits without reaping: sending a signal to a
// group of which only zombies are left fails.
func awaitEnd(pid int) {
	for unix.Kill(pid, 0) == nil && unix.Kill(-pid, 0) == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// redirect makes the descriptor to refer to the same file as from.
func redirect(from, to int) error { return unix.Dup2(from, to) }
