package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMovedCampaigns moves a campaign, its folder or its journal, while it is
// written: the next write says so, nothing is written to what takes its place, and
// what was measured is kept where the folder is by now.
func TestMovedCampaigns(t *testing.T) {
	for _, tc := range []struct {
		name string
		move func(dir, elsewhere string) error
		what string
		kept string // the folder that holds what was measured; empty: nothing does
	}{
		{"renamed", func(dir, elsewhere string) error { return os.Rename(dir, elsewhere) }, "the folder was", "elsewhere"},
		{"replaced by an empty folder", func(dir, elsewhere string) error {
			return errors.Join(os.Rename(dir, elsewhere), os.Mkdir(dir, 0o755))
		}, "the folder was", "elsewhere"},
		{"replaced by another campaign", func(dir, elsewhere string) error {
			other, err := Create(elsewhere+"2", testPlan(1<<20))
			if err != nil {
				return err
			}
			return errors.Join(other.Close(), os.Rename(dir, elsewhere), os.Rename(elsewhere+"2", dir))
		}, "the folder was", "elsewhere"},
		{"removed", func(dir, _ string) error { return os.RemoveAll(dir) }, "the folder was", ""},
		{"without its journal", func(dir, _ string) error { return os.Remove(filepath.Join(dir, journalFile)) }, "trials.jsonl was", ""},
		{"with another journal", func(dir, elsewhere string) error {
			path := filepath.Join(dir, journalFile)
			return errors.Join(os.Rename(path, elsewhere), os.WriteFile(path, nil, 0o644))
		}, "trials.jsonl was", "."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			below := t.TempDir()
			dir, elsewhere := filepath.Join(below, "c"), filepath.Join(below, "elsewhere")
			c, err := Create(dir, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.SetExecutor(testExecutor); err != nil {
				t.Fatal(err)
			}
			ring := testRing(4, 1, 0, true)
			appendAll(t, c, testTrial(t, c, ring, "ring", "LL", 32768, 1024, 3))
			next := testTrial(t, c, ring, "ring", "LL", 32768, 2048, 3)
			if err := tc.move(dir, elsewhere); err != nil {
				t.Fatal(err)
			}
			there := filesBelow(t, dir)
			err = c.Append(next)
			var moved *MovedError
			if !errors.As(err, &moved) || !strings.Contains(err.Error(), "campaign "+dir+": "+tc.what+" renamed, removed or replaced") {
				t.Fatalf("%v, want a MovedError", err)
			}
			if after := filesBelow(t, dir); after != there {
				t.Errorf("what took its place was %s, and is now %s", there, after)
			}
			if moved.Now != "" && moved.Now != filepath.Join(below, tc.kept) {
				t.Errorf("it is said to be in %s, want %s", moved.Now, tc.kept)
			}
			if tc.kept == "elsewhere" {
				c.Close()
				back, err := OpenReadOnly(elsewhere)
				if err != nil || len(back.Trials()) != 2 {
					t.Fatalf("%v: want both trials", err)
				}
				back.Close()
			}
		})
	}
}

// filesBelow lists all files with their sizes.
func filesBelow(t *testing.T, dir string) (list string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			list += fmt.Sprintf("%s %d\n", path, info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A write of a program or a final tally notices the move too, and Discard removes
// nothing from a folder that took the place.
func TestMovedIsNoticedEverywhere(t *testing.T) {
	below := t.TempDir()
	dir := filepath.Join(below, "c")
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetExecutor(testExecutor); err != nil {
		t.Fatal(err)
	}
	if err := c.SetTally(Tally{Enumerated: 1}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	p := testRing(4, 1, 0, true)
	for what, err := range map[string]error{"the same tally": c.SetTally(Tally{Enumerated: 1}), "a program": c.SaveProgram(p.Hash(), p)} {
		if moved := (*MovedError)(nil); !errors.As(err, &moved) {
			t.Errorf("%s: %v, want a MovedError", what, err)
		}
	}
	_ = c.Discard()
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the folder that took its place: %v", err)
	}
}

// A second search finds the campaign in use though the file lock was deleted.
func TestDeletedLock(t *testing.T) {
	defer func(d time.Duration) { forkGrace = d }(forkGrace)
	forkGrace = 20 * time.Millisecond
	c := newCampaign(t, testPlan())
	if err := os.Remove(filepath.Join(c.Dir(), lockFile)); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func() (*Campaign, error){
		func() (*Campaign, error) { return Open(c.Dir()) },
		func() (*Campaign, error) { return Create(c.Dir(), testPlan()) },
	} {
		second, err := open()
		var locked *LockedError
		if !errors.As(err, &locked) {
			t.Errorf("%v, %v: want a LockedError", second, err)
		}
	}
	appendAll(t, c, testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 3))
}

// A journal that another process makes shorter or longer while it is written ends the
// search: what would follow could not be read.
func TestJournalChangedByAnother(t *testing.T) {
	for _, size := range []int64{0, 100, 1 << 20} {
		c := newCampaign(t, testPlan())
		ring := testRing(4, 1, 0, true)
		appendAll(t, c, testTrial(t, c, ring, "ring", "LL", 32768, 1024, 3))
		if err := c.SetTally(Tally{Enumerated: 1}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(c.Dir(), journalFile)
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		next := testTrial(t, c, ring, "ring", "LL", 32768, 2048, 3)
		for what, err := range map[string]error{"a trial": c.Append(next), "the same tally": c.SetTally(Tally{Enumerated: 1}), "again": c.Append(next)} {
			if err == nil || !strings.Contains(err.Error(), "campaign "+c.Dir()+": trials.jsonl: has ") || !strings.Contains(err.Error(), "something else changed it while the search wrote it") {
				t.Errorf("%d bytes, %s: %v", size, what, err)
			}
			if at := (*LineError)(nil); errors.As(err, &at) {
				t.Errorf("%v: want no error of the input", err)
			}
		}
		if info, err := os.Stat(path); err != nil || info.Size() != size {
			t.Errorf("%v: something was written behind %d bytes", err, size)
		}
	}
}

// A link in the place of the folder of programs is refused, and a folder removed during
// a write is a *MovedError.
func TestProgramsFolderReplaced(t *testing.T) {
	c := newCampaign(t, testPlan())
	path := filepath.Join(c.Dir(), programsDir)
	first, second := testRing(4, 1, 0, true), testRing(4, 1, 1, true)
	if err := c.SaveProgram(first.Hash(), first); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(path), os.Symlink(t.TempDir(), path)); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"write": c.SaveProgram(second.Hash(), second), "read": func() error { _, err := c.Program(first.Hash()); return err }()} {
		if err == nil || err.Error() != "campaign "+c.Dir()+": programs is a link that leads out of the folder" {
			t.Errorf("%s: %v", what, err)
		}
	}
	// It is removed between making the folder and writing the file.
	if err := errors.Join(os.Remove(path), c.folder.Mkdir(programsDir, 0o755)); err != nil {
		t.Fatal(err)
	}
	err := c.saveProgram(second.Hash(), func(io.Writer) error { return os.RemoveAll(path) })
	if moved := (*MovedError)(nil); !errors.As(err, &moved) || !strings.Contains(err.Error(), "its folder programs was renamed, removed or replaced") {
		t.Errorf("%v, want a MovedError", err)
	}
}
