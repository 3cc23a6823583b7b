package main

import (
	"slices"
	"testing"

	"github.com/colltune/colltune/executor"
)

func TestLauncherSetting(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value any
		want  []string // nil: refused
	}{
		{"words", []any{"mpirun", "-np", "8"}, []string{"mpirun", "-np", "8"}},
		{"an empty word", []any{"env", ""}, []string{"env", ""}},
		{"a text", "mpirun -np 8", nil},
		{"no words", []any{}, nil},
		{"nothing to run", []any{"", "-np"}, nil},
		{"a number", []any{"mpirun", "-np", int64(8)}, nil},
	} {
		var c executor.Configured
		err := launcherSetting(&c, tc.value)
		if (err == nil) != (tc.want != nil) || err == nil && !slices.Equal(c.Launcher, tc.want) {
			t.Errorf("%s: %q, %v, want %q", tc.name, c.Launcher, err, tc.want)
		}
	}
}
