//go:build unix

package child

import (
	"bytes"
	"os"
	"os/exec"
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

// capAddressSpace is the backstop behind watchMemory, for what allocates faster
// than it looks. A process that meets it dies in one of many ways, of which few
// say so; and far more address space is reserved than ever used: it is wide.
func capAddressSpace(more int64) error {
	now, ok := memory(0)
	if !ok {
		return nil // a system that does not say
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, uint64(now+2*more+slack))
	return unix.Setrlimit(unix.RLIMIT_AS, &limit)
}

// slack is address space that the runtime reserves at its convenience.
const slack = 512 << 20

// memory is a column of /proc/self/statm in bytes: 0 is the address space, 1
// what of it is in use.
func memory(column int) (int64, bool) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(statm)
	if len(fields) <= column {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[column]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
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
	if err := Redirect(int(null.Fd()), 0); err != nil {
		return nil, nil, err
	}
	if err := Redirect(2, 1); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "frames in"), os.NewFile(uintptr(fds[1]), "frames out"), nil
}
