//go:build !unix

package child

import (
	"os"
	"os/exec"
)

// Self is the path of this binary.
func Self() (string, error) { return os.Executable() }

// Spawn starts a process.
func Spawn(cmd *exec.Cmd) error { return cmd.Start() }

// AwaitEnd returns at once: this system can only wait by reaping, which the caller
// does next.
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

// This system has no limit to set.
func capAddressSpace(int64) error { return nil }

func memory(int) (int64, bool) { return 0, false }

// dieWithParent does nothing: when the parent dies, standard input ends, and serve
// returns.
func dieWithParent() {}

func takeStandardStreams() (in, out *os.File, err error) {
	in, out = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	return in, out, nil
}
