package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsAgree changes what a journal of version 1 does not protect, and the name
// of a program, which its hash does not cover.
func TestProgramsAgree(t *testing.T) {
	for _, tc := range []struct{ file, from, to, says string }{
		{planFile, `collective = "allreduce"`, `collective = "allgather"`, "is of allreduce over 4 ranks, and campaign.toml of allgather over 4 ranks: one of them was changed"},
		{planFile, "ranks = 4", "ranks = 8", "campaign.toml of allreduce over 8 ranks: one of them was changed"},
		{journalFile, `"granularity_bytes":`, `"granularity_bytes":1`, "one of them was changed"},
		{programsDir, "\n\"name\":\"", "\n\"name\":\"sneaky", ""},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/version1")); err != nil {
			t.Fatal(err)
		}
		c, err := OpenReadOnly(dir)
		if err != nil {
			t.Fatal(err)
		}
		trial := c.Trials()[0]
		c.Close()
		name := tc.file
		if name == programsDir {
			name = programFile(trial.Program)
		}
		text := fileOf(t, dir, name)
		changed := bytes.ReplaceAll(text, []byte(tc.from), []byte(tc.to))
		if bytes.Equal(text, changed) {
			t.Fatalf("%s has no %s", name, tc.from)
		}
		if err := os.WriteFile(filepath.Join(dir, name), changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err = OpenReadOnly(dir); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p, err := c.Program(trial.Program)
		if tc.says == "" && (err != nil || p.Name != trial.Algorithm) {
			t.Errorf("%v: want the program under its trial's name", err)
		}
		if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s for %s: %v", tc.to, tc.from, err)
		}
	}
}
