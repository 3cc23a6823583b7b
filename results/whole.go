package results

import (
	"errors"
	"io"
	"io/fs"

	"github.com/colltune/colltune/internal/atomicfile"
)

// writeWhole writes a file so that afterwards all of it is on disk, or the old one
// is.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := atomicfile.New(path, 0o644)
	if err != nil {
		return forPath(path, err)
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return forPath(path, err)
	}
	return forPath(path, f.Commit())
}

// forPath makes an error name the file that was asked for, and not the temporary
// one that was to replace it.
func forPath(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	return err
}

// writeText does that with a text.
func writeText(path string, text []byte) error {
	return writeWhole(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
