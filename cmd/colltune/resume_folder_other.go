//go:build !unix

package main

import (
	"errors"
	"io/fs"
)

// folderIdentity knows no folder again here, so every executor of a campaign must be
// named.
func folderIdentity(string) (string, error) { return "", errors.New("folders have no identity here") }

func privateFile(fs.FileInfo) bool { return false }
