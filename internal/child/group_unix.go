//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate sends SIGTERM to a process, or to the group -pid.
func terminate(pid int) bool { return syscall.Kill(pid, syscall.SIGTERM) == nil }

func killGroup(_ *exec.Cmd, pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
