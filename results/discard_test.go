package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A search that ended before its first program was written, for instance on a full
// disk, leaves nothing that would keep the next one out of the folder.
func TestDiscardLeavesNoEmptyFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "campaigns", "c")
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{programsDir, outputDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Discard(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		t.Errorf("left behind: %v", left)
	}
}

// A journal that is missing beside programs was removed, and its campaign is not one
// in which nothing was measured. A search makes the trials again.
func TestMissingJournalIsNamed(t *testing.T) {
	dir := t.TempDir()
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SaveProgram(testRing(4, 2, 0, true).Hash(), testRing(4, 2, 0, true)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := os.Remove(filepath.Join(dir, journalFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(dir); err == nil || !strings.Contains(err.Error(), "trials.jsonl: it is missing") {
		t.Errorf("got %v", err)
	}
	if c, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	c.Close()
}
