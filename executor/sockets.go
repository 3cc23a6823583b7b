package executor

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/colltune/colltune/internal/filelock"
)

// A host's sockets lie in a folder of its own, which it removes. If the host is
// killed its executor removes it; if that was killed, too, the next host finds the
// folder unlocked and removes it.

// socketPrefix begins the name of a host's folder of sockets. It is short because
// a socket's path has at most 108 bytes.
const socketPrefix = "colltune-"

// socketRoot is the system's folder for temporary files if its name leaves room
// for a socket's, else /tmp.
func socketRoot() string {
	if dir := os.TempDir(); len(dir) <= 48 {
		return dir
	}
	return "/tmp"
}

// sockets is a host's folder, with the lock that marks it as in use.
type sockets struct {
	dir  string
	lock *os.File
}

// newSockets makes a folder, and removes those that nobody holds.
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
		case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, filelock.ErrHeld):
			os.RemoveAll(dir)
			return nil, err
		}
		// Another host removed it before its lock was taken: make another.
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
	if err = filelock.Try(f); err == nil {
		_, err = os.Stat(path) // whoever held the lock before us may have removed it
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepSockets removes the folders of hosts that are gone, whose locks can be
// taken. A folder without a lock file is just being made, or its host was killed
// while making it.
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
		if filelock.Try(f) == nil {
			os.RemoveAll(dir)
		}
		f.Close()
	}
}

func (s *sockets) close() error {
	err := os.RemoveAll(s.dir)
	return errors.Join(err, s.lock.Close())
}
