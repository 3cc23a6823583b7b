package results

import (
	"fmt"
	"os"
)

// openRegular opens a file of a campaign's folder. A pipe or a device in its
// place, which could be waited for without end, is refused.
func openRegular(path string, flags int) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file", path)
	}
	return os.OpenFile(path, flags, 0o644)
}
