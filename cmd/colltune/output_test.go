package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A result that could not be written is a failure, also of help and version.
func TestFullDisk(t *testing.T) {
	for _, args := range []string{"", "--help", "search --help", "help run", "version", "--version", "version -o json", "topology show ring:4", "template list"} {
		var stderr strings.Builder
		code := Main(strings.Fields(args), strings.NewReader(""), full{}, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("colltune %s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

// A file without read permission for others keeps its permissions when it is replaced.
func TestOutKeepsPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	if code := Main([]string{"version", "-o", "json", "--out", path}, strings.NewReader(""), &strings.Builder{}, &stderr); code != exitDone {
		t.Fatalf("exit code %d, %s", code, stderr.String())
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
