//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Try takes the lock of a file, or returns ErrHeld at once.
func Try(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// Wait takes the lock of a file as soon as nobody has it.
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

// Ended reports whether the process of a number has certainly ended. A lock that
// it named as its own is then another's, or about to be released.
func Ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
