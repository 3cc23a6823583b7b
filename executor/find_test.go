package executor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	RegisterBuiltin("built-in", func() Executor { return nil })
	dir, path := t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	mine := write(dir, "colltune-executor-mine", 0o755)
	write(path, "colltune-executor-mine", 0o755)
	other := write(path, "colltune-executor-other", 0o755)
	plain := write(path, "colltune-executor-plain", 0o644)
	t.Setenv("PATH", path+string(os.PathListSeparator)+"relative")
	for _, tc := range []struct{ name, path, says string }{
		{name: "mine", path: mine}, // the folder given comes first
		{name: "other", path: other},
		{name: other, path: other},
		{name: "plain", says: "executor not found"},
		{name: plain, says: "not a program"},
		{name: dir, says: "not a program"},
		{name: "./nowhere", says: "no such file"},
		{name: "", says: "executor not found"},
		{name: "othr", says: `"othr" (did you mean other?): want one of `},
	} {
		c, err := Find(tc.name, []string{dir})
		if tc.says == "" && (err != nil || c.Path != tc.path) {
			t.Errorf("%s: %v, %v", tc.name, c, err)
		}
		if tc.says != "" && (!errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.says)
		}
	}
	// A file with a built-in's name is not taken for it.
	for _, name := range []string{builtins.names()[0], pluginPrefix + builtins.names()[0], pluginPrefix} {
		f, err := Lookup(write(path, name, 0o755))
		if err != nil || f.Kind != "plugin" || Builtin(f.Name) != nil || f.Name == "" {
			t.Errorf("%s: found as %+v, %v", name, f, err)
		}
	}
	found := List(dir)
	names := []string{}
	for _, f := range found {
		if f.Kind == "plugin" { // the faults of this test binary are built in
			names = append(names, f.Name)
		}
	}
	if !slices.Equal(names, []string{"mine", "other"}) || !slices.Contains(found, Found{Name: "mine", Kind: "plugin", Path: mine}) {
		t.Errorf("listed %v", found)
	}
}
