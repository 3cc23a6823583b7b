package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The history of a folder is the executors last run there, in order, up to a limit. A
// damaged file counts as empty, and the next run replaces it.
func TestHistoryOfAFolder(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	program := func(i int) pastRun { return pastRun{Name: "x", Program: string(rune('a' + i))} }
	for i := range maxPastRuns + 3 {
		if err := remember(dir, program(i)); err != nil {
			t.Skip(err) // a system without folders' identities
		}
	}
	if err := remember(dir, program(5)); err != nil {
		t.Fatal(err)
	}
	got := pastRuns(dir)
	if len(got) != maxPastRuns || got[maxPastRuns-1] != program(5) || got[maxPastRuns-2] != program(maxPastRuns+2) || slices.Contains(got, program(2)) {
		t.Errorf("%d kept: %v", len(got), got)
	}
	files, _ := filepath.Glob(filepath.Join(state, "colltune", "ran", "*"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	for _, text := range []string{"", "{", "[]", `{"schema": "other"}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := pastRuns(dir); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if err := remember(dir, program(0)); err != nil || len(pastRuns(dir)) != 1 {
		t.Errorf("%v, %v", err, pastRuns(dir))
	}
	for _, home := range []string{"", "relative", filepath.Join(dir, "gone")} {
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("HOME", home)
		if err := remember(dir, program(1)); err == nil || pastRuns(dir) != nil {
			t.Errorf("HOME=%q: %v", home, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); err == nil {
		t.Error("a home was made")
	}
}
