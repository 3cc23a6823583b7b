package child

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Self returns a path of this binary that stays valid when a newer build replaces the
// file. The error is always nil.
func Self() (string, error) { return "/proc/self/exe", nil }

// The kernel sends Pdeathsig when the thread that forked the child ends, not the
// process. So one thread, which lives as long as the program, forks all children.
var forker struct {
	once sync.Once
	jobs chan func()
}

// spawn starts a process at the head of a group, with our mark; if killed is set, the
// kernel kills it when this process dies.
func spawn(cmd *exec.Cmd, killed bool) error {
	forker.once.Do(func() {
		forker.jobs = make(chan func())
		go func() {
			runtime.LockOSThread()
			for job := range forker.jobs {
				job()
			}
		}()
	})
	ownGroup(cmd)
	if killed {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started := make(chan error)
	forker.jobs <- func() {
		ours.Lock()
		defer ours.Unlock()
		err := marking(cmd.Start)
		if err == nil {
			ours.pids[cmd.Process.Pid] = true
		}
		started <- err
	}
	return <-started
}

func awaitEnd(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// reap waits for a process that spawn started.
func reap(cmd *exec.Cmd) error {
	ours.Lock()
	defer ours.Unlock()
	defer delete(ours.pids, cmd.Process.Pid)
	return cmd.Wait()
}

// redirect makes the descriptor to refer to the same file as from.
func redirect(from, to int) error { return unix.Dup3(from, to, 0) }
