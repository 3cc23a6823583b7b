package child

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

// Self returns the path of this binary, or the error of os.Executable.
func Self() (string, error) { return os.Executable() }

// Spawn starts a process, or returns the error of exec.Cmd.Start. No signal reaches a
// process group on this system: what the process starts does not end with it.
func Spawn(cmd *exec.Cmd) error { return cmd.Start() }

// AwaitEnd waits for a process to end.
func AwaitEnd(pid int) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}

func (p *Process) killGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return
	}
	if proc, err := os.FindProcess(p.pid); err == nil {
		_ = proc.Kill()
	}
}

// dieWithParent ends this process when its parent is gone.
func dieWithParent() {
	go func() {
		AwaitEnd(os.Getppid())
		os.Exit(1)
	}()
}

func takeStandardStreams() (in, out *os.File, err error) {
	in, out = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	return in, out, nil
}
