package child

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

// Self returns the path of this binary, or the error of os.Executable.
func Self() (string, error) { return os.Executable() }

// spawn starts a process. This system has no process groups that a signal reaches.
func spawn(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

func terminate(int) bool { return false }

func killGroup(cmd *exec.Cmd, _ int) { _ = cmd.Process.Kill() }

func awaitEnd(pid int) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}
