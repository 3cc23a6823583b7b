package atomicfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// File is a temporary file that Commit moves to its path. It belongs to one goroutine,
// which ends it with Commit or Discard.
type File struct {
	*os.File
	in         place
	temp, path string
	done       bool
}

// place resolves paths: in the file system, or below an open folder.
type place interface {
	OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(path string) error
}

type anywhere struct{}

func (anywhere) OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}
func (anywhere) Rename(from, to string) error { return os.Rename(from, to) }
func (anywhere) Remove(path string) error     { return os.Remove(path) }

// New creates a temporary file that Commit moves to path. Its permissions are perm
// without the umask. The error is an *fs.PathError about the temporary file.
func New(path string, perm fs.FileMode) (*File, error) { return newIn(anywhere{}, path, perm) }

// NewIn is New for a path below an open folder, which may be moved meanwhile. The error
// is New's.
func NewIn(folder *os.Root, path string, perm fs.FileMode) (*File, error) {
	return newIn(folder, path, perm)
}

func newIn(in place, path string, perm fs.FileMode) (*File, error) {
	dir, name := filepath.Split(path)
	for range 10000 {
		temp := filepath.Join(dir, "."+name+strconv.FormatInt(rand.Int64(), 10))
		f, err := in.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			if err != nil {
				return nil, err
			}
			return &File{File: f, in: in, temp: temp, path: path}, nil
		}
	}
	return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
}

// Commit syncs and closes the file and renames it to its path. After an error, which
// is that of the system, the old file is still there; Discard then removes the new one.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := f.in.Rename(f.temp, f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Discard closes and removes the temporary file, unless Commit has succeeded.
func (f *File) Discard() {
	if !f.done {
		f.Close()
		_ = f.in.Remove(f.temp)
	}
}

// Write replaces a file by one that holds text. Errors name path, never the temporary
// file.
func Write(path string, text []byte, perm fs.FileMode) error {
	f, err := New(path, perm)
	return write(f, err, path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// WriteIn replaces a file below an open folder; content writes the new one, and its
// error is returned as it is. Errors of the system name path below the folder's name.
func WriteIn(folder *os.Root, path string, perm fs.FileMode, content func(io.Writer) error) error {
	f, err := NewIn(folder, path, perm)
	return write(f, err, filepath.Join(folder.Name(), path), content)
}

func write(f *File, err error, path string, content func(io.Writer) error) error {
	if err != nil {
		return ErrorAt(path, err)
	}
	defer f.Discard()
	if err := content(f); err != nil {
		return ErrorAt(path, err)
	}
	return ErrorAt(path, f.Commit())
}

// plainOps maps the names of os.Root's operations to those of package os.
var plainOps = map[string]string{
	"lstatat": "lstat", "mkdirat": "mkdir", "openat": "open", "readlinkat": "readlink", "renameat": "rename", "statat": "stat", "unlinkat": "unlink",
}

// ErrorAt replaces the path in an *fs.PathError, which may be that of a temporary file
// or lie below an open folder. Any other error is returned as it is, and so is nil.
func ErrorAt(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: cmp.Or(plainOps[at.Op], at.Op), Path: path, Err: at.Err}
	}
	return err
}
