// Package atomicfile replaces files whole: whoever opens the path finds the old
// file or all of the new one, after a crash too.
//
//	f, err := atomicfile.New(path, 0o644)
//	defer f.Discard()
//	…write to f…
//	err = f.Commit()
//
// Until Commit what was written is beside path, in a file called "." + the path's
// last element + a number. A process that is killed leaves that there.
package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// File is a file that is to take another's place. One goroutine may use it.
type File struct {
	*os.File
	in         place
	temp, path string
	done       bool
}

// place is where paths lead: the file system, or a folder that is held open.
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

// New makes a file that Commit moves to path. Its permissions are perm without the
// umask.
func New(path string, perm fs.FileMode) (*File, error) { return newIn(anywhere{}, path, perm) }

// NewIn does that with a path in a folder, wherever the folder is moved.
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

// Commit writes the file to the disk and puts it in its place.
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

// Discard removes the file, unless Commit has succeeded.
func (f *File) Discard() {
	if !f.done {
		f.Close()
		_ = f.in.Remove(f.temp)
	}
}

// Write replaces a file by one that holds text.
func Write(path string, text []byte, perm fs.FileMode) error {
	f, err := New(path, perm)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}
