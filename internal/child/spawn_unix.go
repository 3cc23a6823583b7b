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

// Spawn starts a process in a group of its own. Call Reap once it has ended. The error
// is that of exec.Cmd.Start.
func Spawn(cmd *exec.Cmd) error {
	ownGroup(cmd)
	return cmd.Start()
}

// AwaitEnd waits for a process we started to end without reaping it. Until it is
// reaped, its number and its group's can't be reused, so the group can still be
// killed safely. Where no system call does that, the process is polled: sending a
// signal to a group of which only zombies are left fails.
func AwaitEnd(pid int) {
	for unix.Kill(pid, 0) == nil && unix.Kill(-pid, 0) == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// Redirect makes the descriptor to refer to the same file as from. It returns the
// system call's error.
func Redirect(from, to int) error { return unix.Dup2(from, to) }
