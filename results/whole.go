package results

import (
	"io"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// writeWhole writes a file so that it is there whole, on disk, or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	// Named here, the folder needs no test whether files can be moved into it.
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// writeText writes a text so.
func writeText(path string, text []byte) error {
	return writeWhole(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
