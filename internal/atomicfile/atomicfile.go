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
	path string
	done bool
}

// New makes a file that Commit moves to path. Its permissions are perm without the
// umask.
func New(path string, perm fs.FileMode) (*File, error) {
	dir, name := filepath.Split(path)
	for range 10000 {
		f, err := os.OpenFile(filepath.Join(dir, "."+name+strconv.FormatInt(rand.Int64(), 10)), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			if err != nil {
				return nil, err
			}
			return &File{File: f, path: path}, nil
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
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return nil
}

// Discard removes the file, unless Commit has succeeded.
func (f *File) Discard() {
	if !f.done {
		f.Close()
		_ = os.Remove(f.Name())
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
