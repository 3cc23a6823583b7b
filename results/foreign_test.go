package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/filetest"
	"github.com/google/go-cmp/cmp"
)

// A campaign changes no file that only has the name of one of its own.
func TestCampaignsLeaveForeignFiles(t *testing.T) {
	for _, text := range []string{"my notes", "{}\n", `{"schema":"mine"}` + "\n"} {
		t.Run(text, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "campaign")
			filetest.Plant(t, filepath.Join(dir, lockFile), text)
			leftAlone(t, dir, func() error {
				_, err := Create(dir, testPlan())
				return err
			})
			if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
				t.Fatal(err)
			}
			c, err := Create(dir, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			filetest.Plant(t, filepath.Join(dir, cacheFile(keyA)), text)
			leftAlone(t, dir, func() error { return c.Cache(keyA, cacheNote{"mine"}, "", nil) })
		})
	}
}

func leftAlone(t *testing.T, dir string, do func() error) {
	t.Helper()
	before := filetest.Tree(t, dir)
	if err := do(); err == nil || !strings.Contains(err.Error(), "colltune did not write this") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, filetest.Tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// What a search has just made is removed again, and nothing else.
func TestDiscardLeavesForeignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "campaign")
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	filetest.Plant(t, filepath.Join(dir, "output", "mine.txt"), "mine")
	filetest.Plant(t, filepath.Join(dir, "mine"), "mine")
	if err := c.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := filetest.Tree(t, dir); len(got) != 4 || !strings.HasSuffix(got[filepath.Join(dir, "mine")], " mine") {
		t.Errorf("left: %v", got)
	}
}
