package executor

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this binary; it survives the file being replaced.
const self = "/proc/self/exe"

func selfPath() (string, error) { return self, nil }

func isolate(cmd *exec.Cmd, gently bool) {
	sig := syscall.SIGKILL
	if gently {
		sig = syscall.SIGTERM
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: sig}
}

// awaitEnd waits for the end of a child without reaping it: its pid, and so its
// group's number, stay its own until then.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// redirect makes descriptor to the same file as from.
func redirect(from, to int) error { return unix.Dup3(from, to, 0) }
