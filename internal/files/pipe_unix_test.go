//go:build unix

package files

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to is refused, and not waited for.
func TestPipeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Read(path, 10); err == nil || err.Error() != "is a pipe: want a regular file" {
		t.Errorf("a pipe: %v", err)
	}
}

// A pipe that a shell has opened for us is read.
func TestDescriptorIsRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	_, _ = w.WriteString("text")
	w.Close()
	if got, err := Read(path, 10); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
}
