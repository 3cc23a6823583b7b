//go:build unix

package ran

import (
	"io/fs"
	"os"
	"syscall"
)

// privateFile reports whether a file is regular and only this user can write it.
func privateFile(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
