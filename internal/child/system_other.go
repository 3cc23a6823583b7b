//go:build !unix

package child

import (
	"os"
	"os/exec"
	"runtime/debug"
)

func ownGroup(*exec.Cmd) {}

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

// capMemory has no limit of the system's to set here: the collector's has to do.
func capMemory(more int64) error {
	if more > 0 {
		debug.SetMemoryLimit(more)
	}
	return nil
}

// dieWithParent relies on the end of standard input, which serve meets first.
func dieWithParent() {}

func takeStandardStreams() (in, out *os.File, err error) {
	in, out = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	return in, out, nil
}
