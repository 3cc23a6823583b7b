package main

import (
	"errors"
	"strings"
	"testing"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A result that could not be written is no success, help and version included.
func TestFullDisk(t *testing.T) {
	for _, args := range []string{"", "--help", "search --help", "help run", "version", "--version", "version -o json", "topology show ring:4", "template list"} {
		var stderr strings.Builder
		code := Main(strings.Fields(args), strings.NewReader(""), full{}, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("colltune %s: exit code %d, %q", args, code, stderr.String())
		}
	}
}
