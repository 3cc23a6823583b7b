package child

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this binary; the name survives the file being replaced.
func self() (string, error) { return "/proc/self/exe", nil }

// The kernel sends Pdeathsig when the thread that forked ends, not the process:
// one thread forks all children and lives as long as the program.
var forker struct {
	once sync.Once
	jobs chan func()
}

func spawn(cmd *exec.Cmd) error {
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

// awaitEnd waits for a child's end without reaping it: until then its number is
// its own.
func awaitEnd(cmd *exec.Cmd) {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

func redirect(from, to int) error { return unix.Dup3(from, to, 0) }
