package filelock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Windows keeps others from reading and writing what is locked. So a byte is
// locked that no file has.
const beyond = 1 << 30 // in units of 4 GiB

// Try takes the lock of a file, or returns ErrHeld at once.
func Try(f *os.File) error {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// Wait takes the lock of a file as soon as nobody has it.
func Wait(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func lock(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: beyond})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrHeld
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// Ended reports false: here a lock does not outlive its process.
func Ended(int) bool { return false }
