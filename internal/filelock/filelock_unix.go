//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Try takes the lock of a file. It never blocks: the error is ErrHeld if another open
// file holds the lock, else an *fs.PathError.
func Try(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// Wait takes the lock of a file and blocks until it is free. The error is an
// *fs.PathError.
func Wait(f *os.File) error { return flock(f, syscall.LOCK_EX) }

func flock(f *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), how); {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		case !errors.Is(err, syscall.EINTR):
			return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// Ended reports whether no process has this number. A lock that names such a process
// as its holder is another's by now, or about to be released.
func Ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
