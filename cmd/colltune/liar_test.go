package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each row is a false answer of executor/executortest/liar, an executor written by
// docs/plugins.md alone, with the exit code and the journal's outcome.
func TestFalseAnswersAreReported(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go on PATH to build the executor with")
	}
	liar := filepath.Join(t.TempDir(), "liar")
	if out, err := exec.Command(goTool, "build", "-o", liar, "../../executor/executortest/liar").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tc := range []struct {
		lie     string
		code    int
		outcome string // of every trial that is in the journal; "": there is none
		says    string // a pattern in the note of every trial or, where the executor was lost, in the error
	}{
		{"honest", 0, "ok", ``},

		{"silent", 6, "", `executor .* lost.*timeout while waiting for plugin to start`},
		{"talkative", 6, "", `executor .* lost`},
		{"speechless", 6, "", `executor .* lost.*in 2s`},

		{"huge-description", 6, "", `its description is larger than`},
		{"long-description", 6, "", `description: fingerprint device of 100000 bytes: want at most`},
		{"many-algorithms", 6, "", `description: 100000 algorithms: want at most|its description is larger than`},
		{"negative-limits", 6, "", `description: max_ranks of -4`},
		{"changing", 6, "", `came back changed: fingerprint`},
		{"changing-limits", 6, "", `came back changed: max_ranks 2, before 0`},
		{"another-each-time", 6, "", `came back changed: fingerprint`},
		{"announces-more", 3, "failed", `no such protocol after all: not supported by this executor`},

		{"no-time", 3, "failed", `measurement without a time`},
		{"zero", 3, "failed", `time of 0 us`},
		{"negative", 3, "failed", `time of -3 us`},
		{"nan", 3, "failed", `time of NaN us`},
		{"infinite", 3, "failed", `time of \+Inf us`},
		{"absurd", 3, "failed", `time of 1e\+308 us`},
		{"too-fast", 3, "failed", `faster than any routing can be: 1e-06 us`},
		{"one-bad-time", 3, "failed", `time of -1 us`},
		{"many-times", 3, "failed", `its answer is larger than|3000000 times`},
		{"too-many-times", 3, "failed", `measurement of 30 times: want at most 20`},
		{"huge-answer", 3, "failed", `its answer is larger than`},
		{"huge-note", 3, "failed", `its answer is larger than`},
		{"long-note", 0, "ok", `^(n\n?|\x1b\[31m)+…?$`},
		{"long-error", 3, "failed", `^executor long-error: e+…$`},

		{"wrong", 5, "wrong", `3 elements wrong`},
		{"wrong-unchecked", 5, "wrong", `3 elements wrong`},
		{"minus-wrong", 3, "failed", `measurement with -3 wrong elements`},
		{"unchecked", 0, "ok", ``},
		{"pays-back", 3, "failed", `measurement that cost -1 s`},

		{"nothing-at-all", 3, "failed", `ended the trial without a measurement`},
		{"empty-event", 3, "failed", `ended the trial without a measurement`},
		{"two-answers", 3, "failed", `sent more after its measurement`},
		{"goes-on", 3, "failed", `sent more after its measurement`},
		{"fails-after", 3, "failed", `it failed after all`},
		{"never-ends", 3, "timeout", `its measurement came, and no end of the trial`},
		{"forgets", 3, "failed", `never seen it`},
		{"only-beats", 3, "timeout", `it never told any progress`},
		{"steps-back", 3, "timeout", ``},
		{"dies-answers", 3, "crashed", `exit status 3`},
	} {
		if waits := "silent speechless never-ends only-beats steps-back many-times huge-answer huge-note"; slices.Contains(strings.Fields(waits), tc.lie) && os.Getenv("COLLTUNE_LONG") == "" {
			continue
		}
		t.Run(tc.lie, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Symlink(liar, filepath.Join(dir, tc.lie)); err != nil {
				t.Skip(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			settings := "[executor.settled]\nkind = \"./" + tc.lie + "\"\nstart-timeout = \"2s\"\n"
			if err := os.WriteFile(filepath.Join(dir, "colltune.toml"), []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			name := "./" + tc.lie
			if slices.Contains([]string{"silent", "talkative", "speechless"}, tc.lie) {
				name = "settled"
			}
			cmd := exec.Command(self)
			cmd.Args = []string{"colltune", "search", "-t", "fullmesh:4", "-c", "allreduce", "-b", "1K", "-e", "1K", "--protocol", "LL", "--instances", "1",
				"--family", "recursive-doubling", "--jobs", "2", "--timeout", "5s", "--executor", name, "--campaign", "c"}
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
			r := runFor(t, cmd)
			if r.code != tc.code {
				t.Errorf("exit code %d, want %d\n%s", r.code, tc.code, r.stderr)
			}
			says := regexp.MustCompile(`(?s)` + tc.says)
			trials := 0
			journal, _ := os.ReadFile(filepath.Join(dir, "c", "trials.jsonl"))
			for line := range strings.Lines(string(journal)) {
				var record struct {
					Trial *struct {
						Outcome string
						Note    string
						Data    string
					}
				}
				if err := json.Unmarshal([]byte(line), &record); err != nil {
					t.Fatal(err)
				}
				if record.Trial == nil {
					continue
				}
				trials++
				if want, ok := map[string]string{"honest": "checked", "unchecked": "unchecked"}[tc.lie]; ok && record.Trial.Data != want {
					t.Errorf("its data is %q, want %q", record.Trial.Data, want)
				}
				if record.Trial.Outcome != tc.outcome || tc.code != exitLost && !says.MatchString(record.Trial.Note) {
					t.Errorf("a trial is %s and says %.300q: want %s and %q", record.Trial.Outcome, record.Trial.Note, tc.outcome, tc.says)
				}
			}
			switch {
			case trials > 0 && tc.outcome == "" || trials == 0 && tc.code != exitLost:
				t.Errorf("%d trials\n%.500s", trials, r.stderr)
			case tc.code == exitLost && !says.MatchString(r.stderr):
				t.Errorf("the error does not say %q:\n%.500s", tc.says, r.stderr)
			}
			if len(journal) > 50_000 {
				t.Errorf("a journal of %d bytes", len(journal))
			}
		})
	}
}
