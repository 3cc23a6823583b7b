package filelock_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/colltune/colltune/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOnlyOneHasTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	if err := filelock.Try(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(second); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	if _, err := second.WriteAt([]byte("free to all\n"), 0); err != nil {
		t.Errorf("the locked file cannot be written: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "free to all\n" {
		t.Errorf("the locked file cannot be read: %q, %v", b, err)
	}
	waited := make(chan error)
	go func() { waited <- filelock.Wait(second) }()
	first.Close()
	if err := <-waited; err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
	if err := filelock.Try(open(t, path)); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a lock that was waited for: %v", err)
	}
}

func TestEnded(t *testing.T) {
	if filelock.Ended(os.Getpid()) {
		t.Error("this process has ended")
	}
	c := exec.Command(os.Args[0], "-test.run=^$")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if !filelock.Ended(c.Process.Pid) {
		t.Skip("its number is another's, or this system cannot tell")
	}
}
