package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	plugin "github.com/hashicorp/go-plugin"

	"github.com/colltune/colltune/internal/filelock"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// A host's sockets lie in a folder of its own, which it removes. If the host is
// killed its executor removes it; if that was killed, too, the next host finds the
// folder unlocked and removes it.
//
//	$TMPDIR/colltune-4711/
//	    sockets-of-colltune    the mark: socketMark, locked by the host
//	    plugin-dir815/         of one run of an executor
//	        plugin42           its socket, under a name of the executor's choice
//
// Other things of such a name are the users': a folder without the mark is none of
// ours, and in one with it only entries go that hosts make. Nothing is removed with
// what it holds.

// socketPrefix begins the name of a host's folder of sockets. It is short because
// a socket's path has at most 108 bytes.
const socketPrefix = "colltune-"

// markFile marks a host's folder by holding socketMark, and is locked as long as
// the host lives. The mark is written after the lock is taken: a folder with a mark
// and a free lock is nobody's.
const (
	markFile   = "sockets-of-colltune"
	socketMark = "Sockets of colltune's executors. While nobody has a lock on this file, any colltune may remove them.\n"
)

// What a host and its executors make in such a folder, beside the mark and sockets.
var (
	hostFolder = lazyregexp.New(`^colltune-[0-9]+$`)
	runFolder  = lazyregexp.New(`^plugin-dir[0-9]+$`)
	socketFile = lazyregexp.New(`^plugin[0-9]+$`) // an empty file before it is a socket
)

// socketRoot is the system's folder for temporary files if its name leaves room
// for a socket's, else /tmp.
func socketRoot() string {
	if dir := os.TempDir(); len(dir) <= 48 {
		return dir
	}
	return "/tmp"
}

// sockets is a host's folder, with its marked and locked file.
type sockets struct {
	dir  string
	lock *os.File
}

// newSockets makes a folder, and removes those that nobody holds.
func newSockets(root string) (*sockets, error) {
	sweepSockets(root)
	dir, err := os.MkdirTemp(root, socketPrefix)
	if err != nil {
		return nil, err
	}
	held, err := mark(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return &sockets{dir, held}, nil
}

// mark makes the folder one of ours, and holds its lock. Go opens files
// close-on-exec, so no executor keeps it.
func mark(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, markFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = filelock.Try(f); err == nil {
		_, err = f.WriteString(socketMark)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// sweepSockets removes the folders of hosts that are gone.
func sweepSockets(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			_ = removeSocketsIn(filepath.Join(root, e.Name()))
		}
	}
}

// close releases the folder and removes it.
func (s *sockets) close() error {
	return errors.Join(s.lock.Close(), removeSocketsIn(s.dir))
}

// removeSocketsIn removes a folder that has a host's name and the mark, and whose
// lock is free. What hosts do not make stays, and the folder with it. Somebody else
// may be removing it at the same time.
func removeSocketsIn(dir string) error {
	if !hostFolder().MatchString(filepath.Base(dir)) {
		return nil
	}
	folder, err := openFolder(dir)
	if err != nil {
		return ignoreNotExist(err)
	}
	defer folder.Close()
	if !abandoned(folder) {
		return nil
	}
	entries, err := entriesOf(folder, ".")
	if err != nil {
		return ignoreNotExist(err)
	}
	foreign := false
	for _, e := range entries {
		switch {
		case e.Name() == markFile: // the last to go
		case e.IsDir() && runFolder().MatchString(e.Name()):
			empty, failed := emptyRun(folder, e.Name())
			foreign, err = foreign || !empty, errors.Join(err, failed)
		default:
			foreign = true
		}
	}
	if foreign || err != nil {
		return err
	}
	return errors.Join(ignoreNotExist(folder.Remove(markFile)), ignoreNotExist(os.Remove(dir)))
}

// emptyRun removes the folder of an executor's run with its sockets, and reports
// whether nothing else was in it.
func emptyRun(folder *os.Root, name string) (empty bool, err error) {
	entries, err := entriesOf(folder, name)
	if err != nil {
		return false, ignoreNotExist(err)
	}
	for _, e := range entries {
		ours := e.Type() == fs.ModeSocket
		if e.Type().IsRegular() && socketFile().MatchString(e.Name()) {
			info, err := e.Info()
			ours = err == nil && info.Size() == 0
		}
		if !ours {
			return false, nil
		}
	}
	for _, e := range entries {
		if err := ignoreNotExist(folder.Remove(filepath.Join(name, e.Name()))); err != nil {
			return false, err
		}
	}
	return true, ignoreNotExist(folder.Remove(name))
}

// openFolder opens a folder of that very name, and not what a link leads to.
func openFolder(dir string) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if opened, err := folder.Stat("."); err != nil || !os.SameFile(named, opened) {
		return nil, errors.Join(fmt.Errorf("%s: want a folder", dir), err, folder.Close())
	}
	return folder, nil
}

// abandoned reports whether a folder has the mark of a host that is gone.
func abandoned(folder *os.Root) bool {
	if info, err := folder.Lstat(markFile); err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(socketMark)) {
		return false
	}
	f, err := folder.OpenFile(markFile, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(len(socketMark))+1))
	return err == nil && string(text) == socketMark && filelock.Try(f) == nil
}

func entriesOf(folder *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// ignoreNotExist returns err unless it says that a file is not there.
func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveSockets removes the folder of this executor's socket, which a killed host could
// not. It is for the executor's process.
func RemoveSockets() {
	if dir := os.Getenv(plugin.EnvUnixSocketDir); dir != "" {
		_ = removeSocketsIn(filepath.Dir(dir))
	}
}
