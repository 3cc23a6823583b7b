//go:build unix && !linux

package child

import (
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Self is this binary.
func Self() (string, error) { return os.Executable() }

// Spawn starts a process in a group of its own.
func Spawn(cmd *exec.Cmd) error {
	ownGroup(cmd)
	return cmd.Start()
}

// AwaitEnd waits for the end of a process we started without reaping it: its
// number, and so its group's, stays its own until then. Where no call does that,
// a zombie is told by its group: a signal can't be sent to one of zombies only.
func AwaitEnd(pid int) {
	for unix.Kill(pid, 0) == nil && unix.Kill(-pid, 0) == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// Redirect makes descriptor to the same file as from.
func Redirect(from, to int) error { return unix.Dup2(from, to) }
