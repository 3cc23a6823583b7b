package executor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The sockets of a host lie in a folder of its own, which it removes. A host
// that is killed leaves that to its executor; where that was killed too, the
// next host finds the folder unlocked and removes it.

// socketPrefix starts the name of a host's folder of sockets. It is short: a
// socket's path has 108 bytes at most.
const socketPrefix = "colltune-"

// socketRoot is the system's folder for temporary files where its name leaves
// room for a socket's, and /tmp elsewhere.
func socketRoot() string {
	if dir := os.TempDir(); len(dir) <= 48 {
		return dir
	}
	return "/tmp"
}

// sockets is a host's folder, held by a lock on a file in it.
type sockets struct {
	dir  string
	lock *os.File
}

// newSockets makes a folder, having removed those that nobody holds.
func newSockets(root string) (*sockets, error) {
	sweepSockets(root)
	for {
		dir, err := os.MkdirTemp(root, socketPrefix)
		if err != nil {
			return nil, err
		}
		held, err := hold(dir)
		switch {
		case err == nil:
			return &sockets{dir, held}, nil
		case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.EWOULDBLOCK):
			os.RemoveAll(dir)
			return nil, err
		}
		// Another host swept it up before it was held: make another.
	}
}

// hold takes the lock of a folder. Go opens files close-on-exec, so no executor
// keeps it.
func hold(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = os.Stat(path) // it may have been removed by the one who held it before us
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepSockets removes the folders of hosts that are gone: those whose lock can
// be had. One without a lock file is being made, or was left while it was.
func sweepSockets(root string) {
	dirs, _ := filepath.Glob(filepath.Join(root, socketPrefix+"[0-9]*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) > time.Minute {
				os.RemoveAll(dir)
			}
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(dir)
		}
		f.Close()
	}
}

func (s *sockets) close() error {
	err := os.RemoveAll(s.dir)
	return errors.Join(err, s.lock.Close())
}
