package results

import (
	"fmt"
	"os"
)

// openRegular opens a file of a campaign's folder. It refuses a pipe or a device
// in its place, which might never answer.
func openRegular(path string, flags int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file", path)
	}
	return os.OpenFile(path, flags, 0o644)
}
