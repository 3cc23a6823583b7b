package results

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/compiler/ir"
)

type cacheNote struct {
	Why string `json:"why"`
}

// Keys of entries with a program and without.
var keyA, keyB = strings.Repeat("a", 64), strings.Repeat("b", 64)

// withCache is a campaign with an entry that has a program, and one that has none.
func withCache(t testing.TB) (*Campaign, *ir.Program) {
	c := newCampaign(t, testPlan())
	p := testRing(4, 1, 0, true)
	if err := errors.Join(c.Cache(keyA, cacheNote{"first"}, p.Hash(), p), c.Cache(keyB, cacheNote{"second"}, "", nil)); err != nil {
		t.Fatal(err)
	}
	return c, p
}

func TestCache(t *testing.T) {
	c, p := withCache(t)
	var note cacheNote
	got, err := c.Cached(keyA, &note)
	if err != nil || note.Why != "first" {
		t.Fatalf("%v, note %q", err, note.Why)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("(-cached +read):\n%s", diff)
	}
	if got, err := c.Cached(keyB, &note); err != nil || got != nil || note.Why != "second" {
		t.Errorf("%v, program %v, note %q: want a note alone", err, got != nil, note.Why)
	}
	if _, err := c.Cached(strings.Repeat("0", 64), &note); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v for a key of no entry", err)
	}
	before := fileOf(t, c.Dir(), cacheFile(keyA))
	if err := c.Cache(keyA, cacheNote{"first"}, p.Hash(), p); err != nil {
		t.Fatal(err)
	}
	if after := fileOf(t, c.Dir(), cacheFile(keyA)); !bytes.Equal(before, after) {
		t.Error("the same entry has other bytes")
	}
	for _, key := range []string{"", "../" + strings.Repeat("a", 61), strings.Repeat("/", 64), strings.Repeat("A", 64)} {
		_, read := c.Cached(key, &note)
		if err := c.Cache(key, note, "", nil); err == nil || read == nil {
			t.Errorf("key %q: written: %v, read: %v", key, err, read)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = OpenReadOnly(c.Dir()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := errors.Join(c.Cache(keyA, note, "", nil)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v, want %v", err, ErrReadOnly)
	}
	if err := c.Enumerated(nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v, want %v", err, ErrReadOnly)
	}
}

// An entry that is torn, changed, or another's is not believed, and a new one takes its
// place.
func TestDamagedCacheIsNotBelieved(t *testing.T) {
	c, p := withCache(t)
	path := filepath.Join(c.Dir(), cacheFile(keyA))
	whole := fileOf(t, c.Dir(), cacheFile(keyA))
	read := func(text []byte) error {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var note cacheNote
		got, err := c.Cached(keyA, &note)
		if err == nil && (note.Why != "first" || got == nil || got.Hash() != p.Hash()) {
			t.Fatalf("believed: note %q, program %v", note.Why, got != nil)
		}
		return err
	}
	for n := range whole {
		if read(whole[:n]) == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(whole))
		}
	}
	refused := 0
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		if read(flipped) != nil {
			refused++
		}
	}
	if refused < len(whole)*9/10 { // nothing depends on the rest, such as gzip's time
		t.Errorf("%d of %d changed bytes were refused", refused, len(whole))
	}
	for name, text := range map[string][]byte{
		"with more behind":     append(bytes.Clone(whole), "more"...),
		"another key's":        fileOf(t, c.Dir(), cacheFile(keyB)),
		"no gzip":              []byte("{}\n"),
		"a line without end":   packed(t, bytes.Repeat([]byte(" "), maxCacheLine+1)),
		"a line without a sum": packed(t, []byte(`{"schema":"`+cacheSchema+`","key":"`+keyA+`","note":{"why":"first"}}`+"\n")),
	} {
		if read(text) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, torn := range [][]byte{nil, whole[:5], whole[:len(whole)/2], make([]byte, 4096)} {
		if err := errors.Join(os.WriteFile(path, torn, 0o644), c.Cache(keyA, cacheNote{"first"}, p.Hash(), p)); err != nil {
			t.Errorf("in the place of %d bytes: %v", len(torn), err)
		}
	}
	if err := read(fileOf(t, c.Dir(), cacheFile(keyA))); err != nil {
		t.Errorf("made again: %v", err)
	}
}

func packed(t *testing.T, text []byte) []byte {
	var all bytes.Buffer
	w := gzip.NewWriter(&all)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// Once all candidates are known, entries of other keys go. What others keep in the folder
// stays, whatever its name, and a file that an entry's name leads to is not written to.
func TestCacheLeavesForeignFilesAlone(t *testing.T) {
	c, p := withCache(t)
	old := strings.Repeat("0", 64)
	if err := c.Cache(old, cacheNote{"of another build"}, "", nil); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(c.Dir(), cacheDir)
	foreign := map[string]string{
		"thesis.txt":                            "mine",
		strings.Repeat("1", 64) + ".json.gz":    "named like an entry",
		strings.Repeat("2", 64) + ".json.gz~":   "a copy",
		"." + strings.Repeat("3", 64) + ".json": "hidden",
		strings.Repeat("4", 63) + ".json.gz":    "nearly",
	}
	for name, text := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	entry := fileOf(t, c.Dir(), cacheFile(keyA))
	if err := os.WriteFile(linked, entry, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(c.Dir(), cacheFile(keyA))), os.Link(linked, filepath.Join(c.Dir(), cacheFile(keyA)))); err != nil {
		t.Fatal(err)
	}
	if err := c.Cache(keyA, cacheNote{"another"}, p.Hash(), p); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(linked); err != nil || !bytes.Equal(text, entry) {
		t.Errorf("%v: a file of another name was written to", err)
	}
	if err := c.Enumerated(map[string]bool{keyA: true, keyB: true}); err != nil {
		t.Fatal(err)
	}
	for name, text := range foreign {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	var note cacheNote
	for key, want := range map[string]error{keyA: nil, keyB: nil, old: fs.ErrNotExist} {
		if _, err := c.Cached(key, &note); !errors.Is(err, want) {
			t.Errorf("%.4s: %v, want %v", key, err, want)
		}
	}
}

// A cache that leads out of the folder is neither read nor written.
func TestCacheStaysInTheFolder(t *testing.T) {
	c, p := withCache(t)
	outside := t.TempDir()
	if err := os.Rename(filepath.Join(c.Dir(), cacheDir), filepath.Join(outside, cacheDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, cacheDir), filepath.Join(c.Dir(), cacheDir)); err != nil {
		t.Skip(err)
	}
	if _, err := c.Cached(keyA, new(cacheNote)); err == nil {
		t.Error("an entry outside of the folder was read")
	}
	if err := c.Cache(strings.Repeat("c", 64), cacheNote{}, p.Hash(), p); err == nil {
		t.Error("an entry was written outside of the folder")
	}
	_ = c.Enumerated(nil)
	if files, err := os.ReadDir(filepath.Join(outside, cacheDir)); err != nil || len(files) != 2 {
		t.Errorf("%d files outside of the folder, %v: want the 2 that were there", len(files), err)
	}
}

// A new campaign that came to nothing goes with its cache, unless all candidates were
// known, or others keep files there.
func TestDiscardedCache(t *testing.T) {
	for _, known := range []bool{false, true} {
		c, _ := withCache(t)
		if known {
			if err := c.Enumerated(map[string]bool{keyA: true, keyB: true}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Discard(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{planFile, cacheDir} {
			if _, err := os.Stat(filepath.Join(c.Dir(), name)); os.IsNotExist(err) == known {
				t.Errorf("candidates known: %v; %s: %v", known, name, err)
			}
		}
	}
	c, _ := withCache(t)
	foreign := filepath.Join(c.Dir(), cacheDir, "thesis.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// The hash of a plan is of all that its answer depends on, and of nothing else.
func TestHashOfAPlan(t *testing.T) {
	one := testPlan()
	other := testPlan()
	other.Version = "9"
	if one.Hash() != other.Hash() {
		t.Error("the version is in the hash")
	}
	other.Sizes = append(other.Sizes, 1<<20)
	if one.Hash() == other.Hash() {
		t.Error("the sizes are not in the hash")
	}
}

// A program whose file is gone is read from the cache of candidates; one that was
// changed is refused.
func TestProgramsAreAmongCandidates(t *testing.T) {
	for name, harm := range map[string]func(own string) error{
		"changed": func(own string) error { return os.WriteFile(own, []byte("{}"), 0o644) },
		"gone":    os.Remove,
	} {
		c, p := withCache(t)
		hash := p.Hash()
		if err := c.SaveProgram(hash, p); err != nil {
			t.Fatal(err)
		}
		if err := harm(filepath.Join(c.Dir(), programsDir, hash+".json")); err != nil {
			t.Fatal(err)
		}
		var gone *ProgramError
		got, err := c.Program(hash)
		if name == "changed" && !errors.As(err, &gone) || name == "gone" && (err != nil || got.Hash() != hash) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Program(strings.Repeat("0", 64)); !errors.As(err, &gone) {
			t.Errorf("%v for a program of no candidate", err)
		}
		if err := os.WriteFile(filepath.Join(c.Dir(), cacheFile(keyA)), []byte("no entry"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Program(hash); !errors.As(err, &gone) {
			t.Errorf("%s: %v where neither is whole", name, err)
		}
	}
}

func FuzzReadCached(f *testing.F) {
	c, p := withCache(f)
	f.Add(fileOf(f, c.Dir(), cacheFile(keyA)))
	f.Add(fileOf(f, c.Dir(), cacheFile(keyB)))
	c.Close()
	f.Fuzz(func(t *testing.T, text []byte) {
		var note cacheNote
		got, err := readCached(bytes.NewReader(text), keyA, &note)
		if err == nil && (note.Why != "first" || got == nil || got.Hash() != p.Hash()) {
			t.Fatalf("believed: note %q, program %v", note.Why, got != nil)
		}
	})
}
