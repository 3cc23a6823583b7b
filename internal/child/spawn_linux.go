package child

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Self returns a path of this binary, which stays valid when a newer build replaces
// the file. The error is always nil.
func Self() (string, error) { return "/proc/self/exe", nil }

// The kernel sends Pdeathsig when the thread that forked the child ends, not the
// process. So a single thread, which lives as long as the program, forks all
// children.
var forker struct {
	once sync.Once
	jobs chan func()
}

// Spawn starts a process in a group of its own. It carries this process's mark, and
// the kernel kills it when this process dies. Call Reap once it has ended. The error
// is that of exec.Cmd.Start.
func Spawn(cmd *exec.Cmd) error {
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
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
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

// AwaitEnd waits for a process we started to end without reaping it. Until it is
// reaped, its number and its group's can't be reused, so the group can still be
// killed safely.
func AwaitEnd(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// Redirect makes the descriptor to refer to the same file as from. It returns the
// system call's error.
func Redirect(from, to int) error { return unix.Dup3(from, to, 0) }
