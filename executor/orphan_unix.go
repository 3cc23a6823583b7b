//go:build unix

package executor

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	plugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"github.com/colltune/colltune/internal/child"
)

// The child's half of "nothing outlives the host"; spawn has the other.

// divertStdout moves file descriptor 1 and os.Stdout onto standard error, and
// returns what was standard output: the line to the host.
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

// dying says that this process is ending all that it started, and then itself.
var dying atomic.Bool

// dieWithHost ends this process and all of its group when the host is gone or
// asks for it: at once where the system sends a signal for it, within half a
// second where only the parent's pid tells. What it started is asked first, and
// has a second.
func dieWithHost() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGHUP) // a stopped group gets the second
	// A log line to a host that is gone must not kill us before we have tidied
	// up. Caught, not ignored: what this process starts would inherit that.
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
		// The signal comes when the host's thread ends, a moment before the
		// host does.
		for range 50 {
			if os.Getppid() != host {
				removeSockets()
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		sweep(plugin.EnvUnixSocketDir + "=" + os.Getenv(plugin.EnvUnixSocketDir))
		if unix.Getpgrp() == os.Getpid() {
			_ = unix.Kill(-os.Getpid(), unix.SIGKILL)
		}
		os.Exit(1)
	}()
}

// removeSockets removes what a killed host could not: the folder it made for
// this executor's socket.
func removeSockets() {
	dir := os.Getenv(plugin.EnvUnixSocketDir)
	if run := filepath.Dir(dir); dir != "" && strings.HasPrefix(filepath.Base(run), socketPrefix) {
		_ = os.RemoveAll(run)
	}
}
