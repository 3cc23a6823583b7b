//go:build unix && !linux

package ran

import (
	"fmt"
	"os"
	"syscall"
)

// folderIdentity identifies a folder by device and inode.
func folderIdentity(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s: the system reports no inode", dir)
	}
	return fmt.Sprintf("inode %d of %d", s.Ino, s.Dev), nil
}
