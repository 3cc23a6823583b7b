package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/colltune/colltune/internal/atomicfile"
)

func TestReplacesWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%q, %v: want %q", b, err, want)
		}
	}
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		f, err := atomicfile.New(path, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		holds("old")
		if commit {
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		f.Discard()
	}
	holds("new")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// What cannot be put in its place leaves nothing behind.
func TestFailedCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := atomicfile.New(path, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if f.Commit() == nil {
		t.Error("a folder was replaced")
	}
	f.Discard()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// An error in an open folder names the operation as one on a path does.
func TestErrorAt(t *testing.T) {
	for op, want := range map[string]string{"openat": "open", "statat": "stat", "stat": "stat", "renameat": "rename", "write": "write"} {
		err := atomicfile.ErrorAt("there", &fs.PathError{Op: op, Path: "here", Err: fs.ErrNotExist})
		if got := err.Error(); got != want+" there: file does not exist" {
			t.Errorf("%s: %s", op, got)
		}
	}
}
