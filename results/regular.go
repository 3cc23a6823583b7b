package results

import (
	"fmt"
	"os"
)

// openRegular opens a file of a campaign's folder. It refuses a pipe or a device
// in its place, which might never answer, and a symbolic link: a campaign may be
// another's, and must not lead to files elsewhere, least of all to write them.
func openRegular(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file", path)
	}
	return os.OpenFile(path, flags, 0o644)
}
