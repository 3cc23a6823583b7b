//go:build !unix

package ran

import (
	"errors"
	"io/fs"
)

// folderIdentity fails here, so that every campaign's executor must be named.
func folderIdentity(string) (string, error) {
	return "", errors.New("folders have no identity on this system")
}

// privateFile reports false: who can write a file is not known here.
func privateFile(fs.FileInfo) bool { return false }
