package executor

import (
	"os/exec"
	"runtime"
	"sync"
)

// The parent-death signal is sent when the thread that forked ends, not the
// process. So executors are started from one goroutine that owns a thread for
// as long as this process lives.

var spawner = struct {
	once  sync.Once
	start chan spawnRequest
}{start: make(chan spawnRequest)}

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

// spawn starts cmd in a process group of its own, to be killed with this
// process where the system can do that.
func spawn(cmd *exec.Cmd) error {
	spawner.once.Do(func() {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread lives as long as we do
			for r := range spawner.start {
				r.done <- r.cmd.Start()
			}
		}()
	})
	isolate(cmd)
	r := spawnRequest{cmd, make(chan error, 1)}
	spawner.start <- r
	return <-r.done
}
