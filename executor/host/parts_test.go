package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The ring keeps the end of the output, however the writes were divided.
func TestRingKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		r := newRing(size)
		var all []byte
		for _, p := range rapid.SliceOf(rapid.SliceOf(rapid.SampledFrom([]byte("ab\n")))).Draw(t, "writes") {
			if n, err := r.Write(p); n != len(p) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
			all = append(all, p...)
		}
		want := string(all)
		if len(all) >= size {
			want = want[len(all)-size:]
			if i := strings.IndexByte(want, '\n'); i >= 0 && i < len(want)-1 {
				want = want[i+1:]
			}
		}
		if got := r.String(); got != want {
			t.Fatalf("kept %q of %q, want %q", got, all, want)
		}
	})
}

func TestEnvironmentIsAllowListed(t *testing.T) {
	t.Setenv("NCCL_DEBUG", "WARN")
	t.Setenv("SECRET_TOKEN", "x")
	t.Setenv("COLLTUNE_EXECUTOR_X", "y")
	env := environment([]string{"EXTRA=1", "NCCL_DEBUG=INFO"})
	for _, want := range []string{"NCCL_DEBUG=INFO", "EXTRA=1", "COLLTUNE_EXECUTOR_X=y"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(strings.Join(env, "\n"), "SECRET") || !slices.IsSorted(env) {
		t.Errorf("environment %v", env)
	}
}

func TestBackoffDoublesToACap(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 100: 5 * time.Second} {
		if got := backoff(time.Second, n); got != want {
			t.Errorf("after %d failures %s, want %s", n, got, want)
		}
	}
}

// An unlocked folder is removed when the next is made; a locked one stays.
func TestSocketsOfTheDeadAreRemoved(t *testing.T) {
	root := t.TempDir()
	live, err := newSockets(root)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newSockets(root)
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the end of its process does
	if err := os.WriteFile(filepath.Join(root, socketPrefix+"1.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := newSockets(root)
	if err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(root, "*"))
	want := []string{live.dir, next.dir, filepath.Join(root, socketPrefix+"1.txt")}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
	if err := errors.Join(live.close(), next.close()); err != nil {
		t.Error(err)
	}
}
