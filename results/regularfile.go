package results

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/colltune/colltune/internal/atomicfile"
)

// openRegular opens a file of a campaign's folder. It refuses a pipe or a device
// in its place, which might never answer, and a symbolic link: a campaign may be
// another's, and must not lead to files elsewhere, least of all to write them.
func openRegular(folder *os.Root, name string, flags int) (*os.File, error) {
	path := filepath.Join(folder.Name(), name)
	if info, err := folder.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file", path)
	}
	f, err := folder.OpenFile(name, flags, 0o644)
	return f, atomicfile.ErrorAt(path, err)
}
