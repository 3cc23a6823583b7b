package child

import (
	"errors"
	"os/exec"
	"sync"
)

// Group is a command that runs at the head of a process group of its own, so that it can
// be ended with all that it starts. Its methods may be called from any goroutine.
//
//	Start ▸ AwaitEnd ▸ Kill, what the command left in its group ▸ Reap
//
// Until Reap the system reuses neither the process's number nor the group's, so the
// signals reach nobody else; after it they reach nobody.
type Group struct {
	Cmd *exec.Cmd
	// Graceful spares the command the kernel's SIGKILL when this process dies (Linux):
	// a launcher, such as srun, must be asked to end, or it keeps its nodes. The zero
	// value kills it.
	Graceful bool

	mu  sync.Mutex
	pid int // 0: not started, or reaped
}

// Start starts the command, with the mark of this process (Linux). Its error is that of
// exec.Cmd.Start.
func (g *Group) Start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 {
		return errors.New("command started twice")
	}
	if err := spawn(g.Cmd, !g.Graceful); err != nil {
		return err
	}
	g.pid = g.Cmd.Process.Pid
	return nil
}

// AwaitEnd waits until the command has ended, and does not reap it. Call it after Start.
func (g *Group) AwaitEnd() { awaitEnd(g.Cmd.Process.Pid) }

// Reap waits for the command and returns the errors of exec.Cmd.Wait. Its process id may
// be another process's from then on, so Terminate and Kill no longer signal it.
func (g *Group) Reap() error {
	g.AwaitEnd()
	g.mu.Lock()
	g.pid = 0
	g.mu.Unlock()
	return reap(g.Cmd)
}

// Terminate asks the command to end (SIGTERM), and reports whether that was possible:
// not before its start, once it is reaped, or on Windows.
func (g *Group) Terminate() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pid != 0 && terminate(g.pid)
}

// TerminateAll asks every process of the group to end (SIGTERM), and reports whether
// that was possible, as Terminate does.
func (g *Group) TerminateAll() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pid != 0 && terminate(-g.pid)
}

// Kill kills every process of the group; on Windows, the command only.
func (g *Group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 {
		killGroup(g.Cmd, g.pid)
	}
}
