package results

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// writeWhole writes a file so that it is there whole, on disk, or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	// Named here, the folder needs no test whether files can be moved into it.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err != nil {
		return forPath(path, err)
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return forPath(path, err)
	}
	return forPath(path, f.CloseAtomicallyReplace())
}

// forPath is a file's error with the name that was asked for, instead of that of the
// file which was to take its place.
func forPath(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	return err
}

// writeText writes a text so.
func writeText(path string, text []byte) error {
	return writeWhole(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
