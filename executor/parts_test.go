package executor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor/protocol"
)

// The ring holds the end of all that was written, however it was cut up.
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

func TestFind(t *testing.T) {
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
		c, err := find(tc.name, []string{dir})
		if tc.says == "" && (err != nil || c.path != tc.path) {
			t.Errorf("%s: %v, %v", tc.name, c, err)
		}
		if tc.says != "" && (!errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.says)
		}
	}
	// A file called as a built-in is not taken for one.
	for _, name := range []string{builtinNames()[0], pluginPrefix + builtinNames()[0], pluginPrefix} {
		f, err := Lookup(write(path, name, 0o755))
		if err != nil || f.Kind != "plugin" || builtin(f.Name) != nil || f.Name == "" {
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

func TestBackoffDoublesToACap(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 100: 5 * time.Second} {
		if got := backoff(time.Second, n); got != want {
			t.Errorf("after %d failures %s, want %s", n, got, want)
		}
	}
}

// The cache drops what was used longest ago, and never the last two.
func TestShelfForgets(t *testing.T) {
	s := newDocumentCache(10)
	put := func(hash string, n int64) { s.put(&document{hash: hash, bytes: n}) }
	put("a", 4)
	put("b", 4)
	s.get("a")
	put("c", 4)
	if s.get("b") != nil || s.get("a") == nil || s.get("c") == nil {
		t.Error("b was used longest ago")
	}
	put("huge", 1000)
	if s.get("huge") == nil || s.get("c") == nil || s.get("a") != nil {
		t.Error("the last two stay, whatever their size")
	}
	put("huge", 1000)
	if s.used != 1004 {
		t.Errorf("%d bytes counted, want 1004", s.used)
	}
}

// A folder that nobody holds goes when the next is made; one that is held stays.
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

// What executors are checked with is right itself.
func TestProgramsOfTheCheckAreRight(t *testing.T) {
	programs := []*ir.Program{exchangeProgram()}
	for n := 2; n < 9; n++ {
		programs = append(programs, ringProgram(n))
	}
	for _, p := range programs {
		if err := verify.Check(p, verify.Options{Slots: 2}).Err(); err != nil {
			t.Errorf("%s over %d ranks: %v", p.Name, p.Ranks(), err)
		}
	}
}

// FuzzFrames: whatever a launcher prints, the reader takes bounded pieces of it,
// and frames that were written come back whole, whoever writes in between.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("Welcome\n"), []byte("hello"), []byte("[1,0]: "))
	f.Add([]byte(frameMark+"0 !!!\n"), []byte{0, 10, 255}, []byte{})
	f.Add([]byte(frameMark+"7 AAAA\n"), []byte{}, []byte("x"))
	f.Fuzz(func(t *testing.T, noise, data, label []byte) {
		for r := newFrameReader(bytes.NewReader(noise), io.Discard); ; {
			if _, err := r.read(); err != nil {
				break
			}
		}
		if bytes.Contains(append(noise, label...), []byte("colltune")) || bytes.ContainsAny(label, "\n") || len(label) > 1000 || len(data) == 0 {
			return
		}
		var text bytes.Buffer
		w := frameWriter{to: &text}
		for range 3 {
			text.Write(noise)
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		labelled := bytes.ReplaceAll(text.Bytes(), []byte("\n"), append([]byte("\n"), label...))
		r := newFrameReader(bytes.NewReader(labelled), io.Discard)
		var got []byte
		for {
			b, err := r.read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b...)
		}
		if want := bytes.Repeat(data, 3); !bytes.Equal(got, want) {
			t.Errorf("%q came back as %q", want, got)
		}
	})
}

// A frame that is lost, or of somebody else, is not passed over.
func TestFramesAreInOrder(t *testing.T) {
	for text, says := range map[string]string{
		frameMark + "1 AAAA\n": "frame 1 where 0 was to come",
		frameMark + "x AAAA\n": "without a number",
		frameMark + "0 A!\n":   "frame 0 is broken",
	} {
		if b, err := newFrameReader(strings.NewReader(text), io.Discard).read(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want %q", text, b, err, says)
		}
	}
}

// FuzzDocument: whatever is sent as a document, an executor keeps only what has
// the hash it was announced with.
func FuzzDocument(f *testing.F) {
	p := &ir.Program{Collective: collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 1, InPlace: true}, GPUs: make([]ir.GPU, 2)}
	var b bytes.Buffer
	if err := ir.Encode(&b, p); err != nil {
		f.Fatal(err)
	}
	f.Add(int32(1), p.Hash(), b.Bytes())
	f.Add(int32(2), "x", []byte(`{"schema":"colltune.topology/v1"}`))
	f.Add(int32(3), "", []byte{})
	f.Fuzz(func(t *testing.T, kind int32, hash string, text []byte) {
		d, err := read(protocol.DocumentKind(kind), hash, text)
		if err == nil && (d.hash != hash || d.program != nil && d.program.Hash() != hash || d.topology != nil && d.topology.Hash() != hash || d.program == nil && d.topology == nil) {
			t.Errorf("kept %+v as %s", d, hash)
		}
	})
}
