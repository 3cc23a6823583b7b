//go:build unix

package executor

import "syscall"

// terminate asks the process to end, and reports whether it could.
func (p *process) terminate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid != 0 && syscall.Kill(p.pid, syscall.SIGTERM) == nil
}

// killGroup kills the process and all of its group, unless it has not started or
// has been reaped.
func (p *process) killGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
}
