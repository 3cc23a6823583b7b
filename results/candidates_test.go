package results

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/compiler/ir"
)

// keptCandidates saves two programs under the key "k", and gives the file.
func keptCandidates(t testing.TB) (*Campaign, string, []*ir.Program) {
	c := newCampaign(t, testPlan())
	programs := []*ir.Program{testRing(4, 1, 0, true), testRing(4, 2, 0, true)}
	if err := c.SaveCandidates("k", []string{"an", "index"}, []string{programs[0].Hash(), programs[1].Hash()}, programs); err != nil {
		t.Fatal(err)
	}
	return c, filepath.Join(c.Dir(), candidatesFile), programs
}

func TestCandidatesComeBack(t *testing.T) {
	c, path, programs := keptCandidates(t)
	for _, jobs := range []int{0, 1, 3} {
		var index []string
		got, err := c.Candidates(t.Context(), "k", &index, jobs)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]*ir.Program{programs[0].Hash(): programs[0], programs[1].Hash(): programs[1]}
		if diff := cmp.Diff(want, got) + cmp.Diff([]string{"an", "index"}, index); diff != "" {
			t.Errorf("%d jobs (-kept +read):\n%s", jobs, diff)
		}
	}
	if _, err := c.Candidates(t.Context(), "another", new([]string), 1); !errors.Is(err, ErrOtherCandidates) {
		t.Errorf("another key: %v, want %v", err, ErrOtherCandidates)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SaveCandidates("k", []string{"an", "index"}, []string{programs[0].Hash(), programs[1].Hash()}, programs); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("kept again: other bytes, or %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Candidates(t.Context(), "k", new([]string), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v, want %v", err, fs.ErrNotExist)
	}
}

// TestDamagedCandidatesAreRefused: cut short anywhere, or with any byte changed,
// the file gives an error or what was kept, never anything else.
func TestDamagedCandidatesAreRefused(t *testing.T) {
	_, path, programs := keptCandidates(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) error {
		var index []string
		got, err := readCandidates(t.Context(), bytes.NewReader(text), "k", &index, 1)
		if err == nil && (len(got) != 2 || got[programs[1].Hash()].Hash() != programs[1].Hash() || !slices.Equal(index, []string{"an", "index"})) {
			t.Fatalf("read %d programs and index %v of a damaged file", len(got), index)
		}
		return err
	}
	for n := range text {
		if err := read(text[:n]); err == nil {
			t.Errorf("cut to %d of %d bytes: no error", n, len(text))
		}
	}
	refused := 0
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1 << (i % 8)
		if read(damaged) != nil {
			refused++
		}
	}
	if refused < len(text)*9/10 { // the rest is what nothing depends on, such as gzip's time
		t.Errorf("%d of %d changed bytes were refused", refused, len(text))
	}
	if err := read(append(bytes.Clone(text), text...)); err == nil || !strings.Contains(err.Error(), "more") {
		t.Errorf("twice over: %v", err)
	}
}

// TestCandidatesOfAPlan: the hash of a plan is of all that its answer depends
// on, and of nothing else.
func TestCandidatesOfAPlan(t *testing.T) {
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

func FuzzReadCandidates(f *testing.F) {
	c, path, _ := keptCandidates(f)
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	c.Close()
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var index any
		programs, err := readCandidates(t.Context(), io.LimitReader(bytes.NewReader(text), 1<<16), "k", &index, 1)
		for hash, p := range programs {
			if err != nil || p.Hash() != hash {
				t.Fatalf("%s under %s, %v", p.Hash(), hash, err)
			}
		}
	})
}

// TestProgramsAreAmongCandidates: a program whose file is gone or was changed is
// read from what was enumerated.
func TestProgramsAreAmongCandidates(t *testing.T) {
	c, path, programs := keptCandidates(t)
	hash := programs[1].Hash()
	if err := c.SaveProgram(hash, programs[1]); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(c.Dir(), programsDir, hash+".json")
	for _, harm := range []func() error{
		func() error { return os.WriteFile(own, []byte("{}"), 0o644) },
		func() error { return os.Remove(own) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		p, err := c.Program(hash)
		if err != nil {
			t.Fatal(err)
		}
		if p.Hash() != hash {
			t.Errorf("another program came: %s", p.Hash())
		}
	}
	var gone *ProgramError
	if _, err := c.Program(strings.Repeat("0", 64)); !errors.As(err, &gone) {
		t.Errorf("%v for a program of no candidate", err)
	}
	if err := os.WriteFile(path, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Program(hash); !errors.As(err, &gone) {
		t.Errorf("%v where neither is whole", err)
	}
}
