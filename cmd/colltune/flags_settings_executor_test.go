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
		err := setLauncher(&c, tc.value)
		if (err == nil) != (tc.want != nil) || err == nil && !slices.Equal(c.Launcher, tc.want) {
			t.Errorf("%s: %q, %v, want %q", tc.name, c.Launcher, err, tc.want)
		}
	}
}

func TestEnvSetting(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value any
		want  []string // nil: refused
	}{
		{"by name", map[string]any{"UCX_TLS": "rc,sm", "A": "x=y"}, []string{"A=x=y", "UCX_TLS=rc,sm"}},
		{"empty", map[string]any{"A": ""}, []string{"A="}},
		{"a text", "A=1", nil},
		{"a number", map[string]any{"A": int64(1)}, nil},
		{"a name with =", map[string]any{"A=B": "1"}, nil},
		{"a name with a null", map[string]any{"A\x00": "1"}, nil},
		{"a value with a null", map[string]any{"A": "1\x00"}, nil},
	} {
		var c executor.Configured
		err := setEnv(&c, tc.value)
		if (err == nil) != (tc.want != nil) || err == nil && !slices.Equal(c.Env, tc.want) {
			t.Errorf("%s: %q, %v, want %q", tc.name, c.Env, err, tc.want)
		}
	}
}
