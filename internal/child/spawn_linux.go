package child

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Self is this binary; the name survives the file being replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// The kernel sends Pdeathsig when the thread that forked ends, not the process:
// one thread forks all children and lives as long as the program.
var forker struct {
	once sync.Once
	jobs chan func()
}

// Spawn starts a process in a group of its own, to be killed with this one where
// the system can do that.
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
	forker.jobs <- func() { started <- cmd.Start() }
	return <-started
}

// AwaitEnd waits for the end of a process we started without reaping it: its
// number, and so its group's, stays its own until then.
func AwaitEnd(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// Redirect makes descriptor to the same file as from.
func Redirect(from, to int) error { return unix.Dup3(from, to, 0) }
