//go:build !unix

package child

import (
	"os"
	"os/exec"
)

// Self is this binary.
func Self() (string, error) { return os.Executable() }

// Spawn starts a process.
func Spawn(cmd *exec.Cmd) error { return cmd.Start() }

// AwaitEnd leaves the waiting to who reaps: there is none without it here.
func AwaitEnd(int) {}

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

// There is no limit of the system's to set here.
func capAddressSpace(int64) error { return nil }

func memory(int) (int64, bool) { return 0, false }

// dieWithParent relies on the end of standard input, which serve meets first.
func dieWithParent() {}

func takeStandardStreams() (in, out *os.File, err error) {
	in, out = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	return in, out, nil
}
