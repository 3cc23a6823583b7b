package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer in a campaign's folder is refused at once. So is a link to a
// file elsewhere, which is not changed.
func TestPipesAndLinksAreRefused(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "thesis")
	if err := os.WriteFile(foreign, []byte("a year's work"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink(foreign, path) },
	} {
		t.Run(what, func(t *testing.T) { refused(t, put) })
	}
	if text, err := os.ReadFile(foreign); string(text) != "a year's work" {
		t.Errorf("the file that the links led to is now %q, %v", text, err)
	}
}

func refused(t *testing.T, put func(path string) error) {
	for _, name := range []string{"campaign.toml", "trials.jsonl", "lock", "candidate", "program"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c, err := Create(dir, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.SetExecutor(testExecutor); err != nil {
				t.Fatal(err)
			}
			trial := testTrial(t, c, testRing(4, 2, 0, true), "ring", "Simple", 2<<20, 1024, 3, 1, 2)
			appendAll(t, c, trial)
			c.Close()
			path := filepath.Join(dir, name)
			if name == "program" {
				path = filepath.Join(dir, programsDir, trial.Program+".json")
			}
			key := strings.Repeat("c", 64)
			if name == "candidate" {
				path = filepath.Join(dir, cacheFile(key))
				if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Skip(err)
			}
			c, err = Open(dir)
			if err == nil {
				defer c.Close()
				_, err = c.Program(trial.Program)
				_, cached := c.Cached(key, new(any))
				err = errors.Join(err, cached)
			}
			if err == nil || !strings.Contains(err.Error(), filepath.Base(path)+": want a regular file") {
				t.Errorf("%v", err)
			}
		})
	}
}
