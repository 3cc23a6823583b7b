package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in a campaign's folder, which nobody writes to, is refused and not
// waited for.
func TestPipesAreRefused(t *testing.T) {
	for _, name := range []string{"campaign.toml", "trials.jsonl", "lock", candidatesFile, "program"} {
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
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Skip(err)
			}
			c, err = Open(dir)
			if err == nil {
				defer c.Close()
				_, err = c.Program(trial.Program)
				_, kept := c.Candidates(t.Context(), "key", new(any), 1)
				err = errors.Join(err, kept)
			}
			if err == nil || !strings.Contains(err.Error(), filepath.Base(path)+": want a regular file") {
				t.Errorf("%v", err)
			}
		})
	}
}
