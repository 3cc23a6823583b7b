//go:build unix

package executor

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	plugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"github.com/colltune/colltune/internal/child"
)

// divertStdout points file descriptor 1 and os.Stdout at standard error. It
// returns what was standard output, over which the host is spoken to.
func divertStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := child.Redirect(2, 1); err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(fd), "handshake"), nil
}

// takeStreams moves the protocol away from descriptors 0 and 1, so that what C
// libraries print goes to standard error, and processes that they start read
// nothing.
func takeStreams() (in, out *os.File, err error) {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, err
	}
	if out, err = divertStdout(); err != nil {
		return nil, nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	return os.NewFile(uintptr(fd), "standard input"), out, child.Redirect(int(null.Fd()), 0)
}

// dieWithHost ends this process and its group when the host is gone, or asks for
// it. Where the system sends a signal at the host's end that is at once; where
// only the parent's pid tells, within half a second. What this process started is
// asked to end first, and has a second to do so.
func dieWithHost() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGHUP) // SIGHUP is sent to a group that is stopped
	// Writing a log line to a host that is gone must not kill us before we have
	// tidied up. The signal is caught and not ignored, because processes started
	// by this one would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	host := os.Getppid()
	go func() {
		for asked := false; !asked && os.Getppid() == host; {
			select {
			case <-term:
				asked = true
			case <-time.After(500 * time.Millisecond):
			}
		}
		dying.Store(true)
		// The signal comes when the thread of the host that started us ends, a
		// moment before the host itself does.
		for range 50 {
			if os.Getppid() != host {
				removeSockets()
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		sweep(plugin.EnvUnixSocketDir + "=" + os.Getenv(plugin.EnvUnixSocketDir))
		child.EndDescendants()
		if unix.Getpgrp() == os.Getpid() {
			_ = unix.Kill(-os.Getpid(), unix.SIGKILL)
		}
		os.Exit(1)
	}()
}
