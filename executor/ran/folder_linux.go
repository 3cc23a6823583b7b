package ran

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// folderIdentity identifies a folder by inode and time of birth, so that another folder
// in its place has another identity; by device and inode on file systems without
// times of birth. Renaming the folder keeps it.
func folderIdentity(dir string) (string, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return "", err
	}
	if s.Mask&unix.STATX_BTIME == 0 {
		return fmt.Sprintf("inode %d of %d:%d", s.Ino, s.Dev_major, s.Dev_minor), nil
	}
	return fmt.Sprintf("inode %d born %d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec), nil
}
