//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// parentLook is how often a process looks who its parent is, for systems whose kernel
// sends no signal at the parent's end.
const parentLook = 500 * time.Millisecond

// EndWithParent ends this process, all that it started, and its group, once its parent
// has ended or somebody asks it to end (SIGTERM, SIGHUP). Before that, on a goroutine of
// its own, it calls cleanup; parentEnded tells the two apart. See TermWithParent.
//
// SIGPIPE is caught from now on: writing a log line to a parent that is gone must not
// kill this process before cleanup. It is not ignored, because processes started by this
// one would inherit that.
func EndWithParent(cleanup func(parentEnded func() bool)) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGHUP) // SIGHUP is sent to a group that is stopped
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	parent := os.Getppid()
	go func() {
		awaitParent(parent, term)
		cleanup(func() bool {
			// The signal comes when the thread of the parent that started us ends, a
			// moment before the parent itself does.
			for range 50 {
				if os.Getppid() != parent {
					return true
				}
				time.Sleep(2 * time.Millisecond)
			}
			return false
		})
		endDescendants()
		endSelf()
	}()
}

// endWithParent is EndWithParent for processes that have nothing to clean up.
func endWithParent() {
	parent := os.Getppid()
	go func() {
		awaitParent(parent, nil)
		endSelf()
	}()
}

// awaitParent waits until the parent is another, or a signal comes.
func awaitParent(parent int, asked <-chan os.Signal) {
	for os.Getppid() == parent {
		select {
		case <-asked:
			return
		case <-time.After(parentLook):
		}
	}
}

// endSelf kills the group that this process heads, and ends the process.
func endSelf() {
	if unix.Getpgrp() == os.Getpid() {
		_ = unix.Kill(-os.Getpid(), unix.SIGKILL)
	}
	os.Exit(1)
}
