package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

type begunNote struct {
	Why string `json:"why"`
}

// What was begun is found again under its name, with its program and with none, until
// it is forgotten; under another key there is nothing, and what was there is gone.
func TestBegun(t *testing.T) {
	c := newCampaign(t, testPlan())
	program := testRing(4, 1, 0, true)
	hash := program.Hash()
	begin := func(key string) *Begun {
		t.Helper()
		b, err := c.Begin(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	holds := func(b *Begun, name string, want bool) {
		t.Helper()
		var note begunNote
		p, got, ok := b.Known(name, &note)
		switch {
		case ok != want:
			t.Errorf("%s is there: %v, want %v", name, ok, want)
		case ok && name == "refused" && (p != nil || got != "" || note.Why != "too far\nfor it"):
			t.Errorf("%s: %+v and program %q", name, note, got)
		case ok && name == "built" && (p == nil || got != hash || p.Hash() != hash):
			t.Errorf("%s: program %q, want %q", name, got, hash)
		}
	}
	b := begin("one")
	for _, err := range []error{b.Keep("built", begunNote{}, hash, program), b.Keep("refused", begunNote{"too far\nfor it"}, "", nil), b.Close(), b.Keep("late", begunNote{}, "", nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b = begin("one")
	holds(b, "built", true)
	holds(b, "refused", true)
	holds(b, "late", false)
	b.Close()
	b = begin("two")
	holds(b, "built", false)
	b.Close()
	b = begin("one")
	holds(b, "built", false)
	b.Close()
	if err := c.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir(), begunFile)); !os.IsNotExist(err) {
		t.Errorf("%v, want the file to be gone", err)
	}
	if err := c.Forget(); err != nil {
		t.Errorf("%v: nothing is there to forget", err)
	}
}

// A kill tears the last entry, wherever it strikes: those before it are found, it is
// not, and what is kept from then on is found beside them.
func TestBegunTorn(t *testing.T) {
	c := newCampaign(t, testPlan())
	program := testRing(4, 1, 0, true)
	hash := program.Hash()
	b, err := c.Begin(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Dir(), begunFile)
	var ends []int
	for _, name := range []string{"a", "b"} {
		if err := b.Keep(name, begunNote{name}, hash, program); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(text))
	}
	b.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at <= len(whole); at += 1 + len(whole)/60 {
		for _, tail := range [][]byte{nil, bytes.Repeat([]byte{0}, 40), whole[:min(at, 30)]} {
			if len(tail) > 0 && tail[0] != 0 && at < len(begunMark) {
				continue // no enumeration's file begins so
			}
			if err := os.WriteFile(path, append(bytes.Clone(whole[:at]), tail...), 0o644); err != nil {
				t.Fatal(err)
			}
			b, err := c.Begin(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			var note begunNote
			for i, name := range []string{"a", "b"} {
				if _, _, ok := b.Known(name, &note); ok != (at >= ends[i]) {
					t.Errorf("torn at %d of %d: %s is there: %v", at, len(whole), name, ok)
				}
			}
			if err := b.Keep("c", begunNote{"c"}, "", nil); err != nil {
				t.Fatal(err)
			}
			b.Close()
			if b, err = c.Begin(t.Context(), "key"); err != nil {
				t.Fatal(err)
			}
			if _, _, ok := b.Known("c", &note); !ok || note.Why != "c" {
				t.Errorf("torn at %d of %d: what was kept after is not there", at, len(whole))
			}
			b.Close()
		}
	}
}

// Programs stay in the file until they are asked for, however large they are, and an
// entry behind them is found.
func TestBegunIsPassedOver(t *testing.T) {
	c := newCampaign(t, testPlan())
	b, err := c.Begin(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	const large = 900 << 20 // a hole in the file
	line, _ := sealed(b.first, fmt.Appendf(nil, `{"name":"large","ir":"0","bytes":%d}`, large))
	last, _ := sealed(b.first, []byte(`{"name":"last","note":{"why":"so"}}`))
	at := b.end + int64(len(line)) + large
	for _, err := range []error{write(b.file, line, b.end), write(b.file, last, at), b.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if b, err = c.Begin(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("%d bytes are taken to read a file of %d", taken, at)
	}
	var note begunNote
	if _, _, ok := b.Known("last", &note); !ok || note.Why != "so" {
		t.Errorf("what lies behind a large program: %v, %+v", ok, note)
	}
	if _, _, ok := b.Known("large", &note); ok {
		t.Error("a hole is taken for a program")
	}
}

func write(f *os.File, text []byte, at int64) error {
	_, err := f.WriteAt(text, at)
	return err
}

// Once nobody waits for it, a file is read no further, and left as it is.
func TestBegunIsGivenUp(t *testing.T) {
	c := newCampaign(t, testPlan())
	b, err := c.Begin(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Keep("a", begunNote{"a"}, "", nil), b.Close()); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Begin(gone, "another"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if b, err = c.Begin(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, _, ok := b.Known("a", new(begunNote)); !ok {
		t.Error("what was there is gone")
	}
}

// Whatever the file holds, it gives programs only under their own hashes, and what is
// kept after is found.
func FuzzBegun(f *testing.F) {
	c := newCampaign(f, testPlan())
	path := filepath.Join(c.Dir(), begunFile)
	program := testRing(4, 1, 0, true)
	b, err := c.Begin(f.Context(), "key")
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(b.Keep("a", begunNote{"a"}, program.Hash(), program), b.Keep("b", begunNote{"b"}, "", nil), b.Close()); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"schema":"` + begunSchema + `","key":"key"}` + "\n" + `{"name":"a","ir":"0","bytes":-4}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		b, err := c.Begin(t.Context(), "key")
		if err != nil { // not of an enumeration
			if left, _ := os.ReadFile(path); !bytes.Equal(left, text) || bytes.HasPrefix(text, []byte(begunMark)) {
				t.Fatalf("%v, and the file holds %q", err, left)
			}
			return
		}
		var note begunNote
		for name := range b.known {
			if p, hash, ok := b.Known(name, &note); ok && p != nil && p.Hash() != hash {
				t.Errorf("%s under %s", p.Hash(), hash)
			}
		}
		if err := errors.Join(b.Keep("c", begunNote{"c"}, "", nil), b.Close()); err != nil {
			t.Fatal(err)
		}
		if b, err = c.Begin(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, _, ok := b.Known("c", &note); !ok || note.Why != "c" {
			t.Error("what is kept is not found")
		}
	})
}
