package results

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/colltune/colltune/internal/atomicfile"
)

// writeWhole writes a file so that afterwards all of it is on disk, or the old one
// is.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := atomicfile.New(path, 0o644)
	return finish(f, err, path, write)
}

// writeIn does that with a file of a folder that is held open.
func writeIn(folder *os.Root, name string, write func(io.Writer) error) error {
	f, err := atomicfile.NewIn(folder, name, 0o644)
	return finish(f, err, filepath.Join(folder.Name(), name), write)
}

func finish(f *atomicfile.File, err error, path string, write func(io.Writer) error) error {
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
		return &fs.PathError{Op: strings.TrimSuffix(at.Op, "at"), Path: path, Err: at.Err}
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
