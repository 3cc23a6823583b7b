package filelock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// beyond is the locked byte's offset, in units of 4 GiB: past the end of any file,
// because on Windows locked bytes can't be read or written by others.
const beyond = 1 << 30

// Try takes the lock of a file. It never blocks: the error is ErrHeld if another open
// file holds the lock, else an *fs.PathError.
func Try(f *os.File) error {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// Wait takes the lock of a file and blocks until it is free. The error is an
// *fs.PathError.
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
