package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// folderIdentity tells a folder from any other that is ever put in its place: by its
// inode and the time of its birth, or by device and inode on a file system that
// keeps no such time. It stays with a folder that is renamed.
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
