//go:build unix && !linux

package executor

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func selfPath() (string, error) { return os.Executable() }

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// sweep needs other processes' environments, which only Linux shows.
func sweep(string) int { return 0 }

// awaitEnd waits for the end of a child without reaping it: its pid, and so its
// group's number, stay its own until then. Where no call does that, a zombie is
// told by its group: a signal can't be sent to a group of zombies only.
func awaitEnd(pid int) {
	for unix.Kill(pid, 0) == nil && unix.Kill(-pid, 0) == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// redirect makes descriptor to the same file as from.
func redirect(from, to int) error { return unix.Dup2(from, to) }
