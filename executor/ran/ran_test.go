package ran_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/colltune/colltune/executor/ran"
)

// The history of a folder is the executors last run there, in order, up to a limit. A
// damaged file counts as empty, and the next run replaces it.
func TestHistoryOfAFolder(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	program := func(i int) ran.Run { return ran.Run{Name: "x", Program: string(rune('a' + i))} }
	for i := range ran.Most + 3 {
		if err := ran.Remember(dir, program(i)); err != nil {
			t.Skip(err) // a system without folders' identities
		}
	}
	if err := ran.Remember(dir, program(5)); err != nil {
		t.Fatal(err)
	}
	got := ran.Runs(dir)
	if len(got) != ran.Most || got[ran.Most-1] != program(5) || got[ran.Most-2] != program(ran.Most+2) || slices.Contains(got, program(2)) {
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
		if got := ran.Runs(dir); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if err := ran.Remember(dir, program(0)); err != nil || len(ran.Runs(dir)) != 1 {
		t.Errorf("%v, %v", err, ran.Runs(dir))
	}
	for _, home := range []string{"", "relative", filepath.Join(dir, "gone")} {
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("HOME", home)
		if err := ran.Remember(dir, program(1)); err == nil || ran.Runs(dir) != nil {
			t.Errorf("HOME=%q: %v", home, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); err == nil {
		t.Error("a home was made")
	}
}
