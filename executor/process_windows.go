package executor

// terminate reports false: this system has no signal that a process could answer.
func (p *process) terminate() bool { return false }

// killGroup kills the process, but not what it has started.
func (p *process) killGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = p.cmd.Process.Kill()
	}
}
