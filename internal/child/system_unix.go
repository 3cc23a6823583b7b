//go:build unix

package child

import (
	"bytes"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the child and all of its group; nothing once it is reaped.
func (p *Process) killGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
}

// capMemory limits the address space to what this process has now and more
// bytes: the runtime reserves much at its start that is never touched.
func capMemory(more int64) error {
	if more == 0 {
		return nil
	}
	debug.SetMemoryLimit(more - more/8) // collect harder before it is too late
	var now int64
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 0 {
			pages, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			now = pages * int64(os.Getpagesize())
		}
	}
	if now == 0 {
		return nil // a system that does not say: the collector's limit has to do
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, uint64(now+more))
	return unix.Setrlimit(unix.RLIMIT_AS, &limit)
}

// dieWithParent ends this process and its group when its parent is gone, where
// the kernel has not done so already.
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

// takeStandardStreams moves the frames' descriptors away from 0 and 1, so that
// whatever a C library prints goes to standard error and can't break a frame.
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
	if err := redirect(int(null.Fd()), 0); err != nil {
		return nil, nil, err
	}
	if err := redirect(2, 1); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "frames in"), os.NewFile(uintptr(fds[1]), "frames out"), nil
}
