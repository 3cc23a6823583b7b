package filetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Tree maps the path of each entry at and below dir to its type followed by a file's
// contents or a link's target. Errors end the test.
func Tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		switch {
		case e.Type() == fs.ModeSymlink:
			text, err = os.Readlink(path)
		case e.Type().IsRegular():
			var b []byte
			b, err = os.ReadFile(path)
			text = string(b)
		}
		all[path] = e.Type().String() + " " + text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Plant writes a file and makes the folders above it. Errors end the test.
func Plant(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
