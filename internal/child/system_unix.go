//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the child and its group. It does nothing once the child is
// reaped.
func (p *Process) killGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
}

// dieWithParent ends this process and its group when its parent is gone. It covers
// systems whose kernel does not do so itself.
func dieWithParent() {
	parent := os.Getppid()
	go func() {
		for os.Getppid() == parent {
			time.Sleep(500 * time.Millisecond)
		}
		if unix.Getpgrp() == os.Getpid() {
			_ = unix.Kill(-os.Getpid(), unix.SIGKILL)
		}
		os.Exit(1)
	}()
}

// takeStandardStreams moves the frames' descriptors away from 0 and 1, and points
// 1 at standard error: what a C library prints can't get between the frames.
func takeStandardStreams() (in, out *os.File, err error) {
	var fds [2]int
	for i := range fds {
		if fds[i], err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 3); err != nil {
			return nil, nil, err
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	if err := Redirect(int(null.Fd()), 0); err != nil {
		return nil, nil, err
	}
	if err := Redirect(2, 1); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "frames in"), os.NewFile(uintptr(fds[1]), "frames out"), nil
}
