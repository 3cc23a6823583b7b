//go:build unix

package child

import (
	"os"

	"golang.org/x/sys/unix"
)

// DivertStdout points descriptor 1 and os.Stdout at standard error, for what libraries
// print, and returns what was standard output.
func DivertStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := redirect(2, 1); err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(fd), "standard output"), nil
}

// TakeStreams moves a protocol away from descriptors 0 and 1: what C libraries print goes
// to standard error, and processes that they start read nothing.
func TakeStreams() (in, out *os.File, err error) {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, err
	}
	if out, err = DivertStdout(); err != nil {
		return nil, nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	return os.NewFile(uintptr(fd), "standard input"), out, redirect(int(null.Fd()), 0)
}
