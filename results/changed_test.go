package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// version1 is a journal as an older colltune would have written it.
func version1(journal []byte) []byte {
	journal = regexp.MustCompile(`(?m)^\{"v":2,"plan":.*\n`).ReplaceAll(journal, nil)
	journal = regexp.MustCompile(`(?m),"sum":"[0-9a-f]+"\}$`).ReplaceAll(journal, []byte("}"))
	return regexp.MustCompile(`(?m)^\{"v":2,`).ReplaceAll(journal, []byte(`{"v":1,`))
}

// finished is a finished campaign with two programs at two sizes, and its files.
func finished(t testing.TB) (dir string, plan, journal []byte) {
	t.Helper()
	c := newCampaign(t, testPlan(1024, 2048))
	for i, name := range []string{"ring", "other"} {
		p := testRing(4, 1, i, true)
		for _, n := range []int64{1024, 2048} {
			appendAll(t, c, testTrial(t, c, p, name, "LL", 32768, n, float64(n)/100+float64(i)))
		}
	}
	if err := c.SetTally(Tally{Finished: true, Enumerated: 2, Tuned: 2, Points: []Point{{Bytes: 1024, Placement: "in", BoundUS: 3}}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return c.Dir(), fileOf(t, c.Dir(), planFile), fileOf(t, c.Dir(), journalFile)
}

func fileOf(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// contentsOf prints what a folder's campaign holds, and the remarks on it.
func contentsOf(dir string) (contents string, remarks []string, err error) {
	c, err := OpenReadOnly(dir)
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	executor, _ := c.Executor()
	tally, _ := c.Tally()
	text, err := json.Marshal([]any{c.Plan(), executor, tally, c.Trials()})
	return string(text), c.Remarks(), err
}

// namedLine is what an error about a changed file says first.
var namedLine = regexp.MustCompile(`(campaign\.toml|trials\.jsonl):(\d+|.* line \d+|.*\(line \d+)`)

// TestChangesAreNotBelieved changes a finished campaign in every place: either the
// error names file and line, or the same table is printed, or the journal ends in a
// line that is not finished, and a remark says so.
func TestChangesAreNotBelieved(t *testing.T) {
	dir, plan, journal := finished(t)
	want, _, err := contentsOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	try := func(what, name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, remarks, err := contentsOf(dir)
		var at *LineError
		switch {
		case errors.As(err, &at):
			if !namedLine.MatchString(err.Error()) {
				t.Errorf("%s: %v: want the line", what, err)
			}
		case err != nil:
			t.Errorf("%s: %v: want a LineError", what, err)
		case got == want:
			same++
			t.Logf("%s: the same table", what)
		case len(remarks) == 0:
			t.Errorf("%s: another table, and no word:\n%s", what, got)
		}
	}
	for name, whole := range map[string][]byte{planFile: plan, journalFile: journal} {
		for i := range whole {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << (i % 8)
			try(fmt.Sprintf("%s, byte %d", name, i), name, flipped)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
		put := func(what string, lines ...[][]byte) {
			t.Helper()
			try(name+", "+what, name, bytes.Join(slices.Concat(lines...), nil))
		}
		for i := range lines {
			if name == planFile || i+1 < len(lines) {
				put(fmt.Sprintf("line %d removed", i+1), lines[:i], lines[i+1:])
			}
			put(fmt.Sprintf("line %d doubled", i+1), lines[:i+1], lines[i:])
			for j := range i {
				swapped := slices.Clone(lines)
				swapped[i], swapped[j] = lines[j], lines[i]
				if !bytes.Equal(lines[i], lines[j]) {
					put(fmt.Sprintf("lines %d and %d swapped", i+1, j+1), swapped)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if same > 0 {
		t.Errorf("%d changes show nowhere", same)
	}
	// Lines cut from the end are an earlier state of the search.
	for n := bytes.Count(journal, []byte("\n")) - 1; n >= 0; n-- {
		lines := bytes.SplitAfter(journal, []byte("\n"))
		if err := os.WriteFile(filepath.Join(dir, journalFile), bytes.Join(lines[:n], nil), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := OpenReadOnly(dir)
		if err != nil || c.Finished() {
			t.Errorf("%d lines: %v, want an unfinished campaign", n, err)
		}
	}
}

// TestOlderJournals reads a campaign that a version without checksums wrote, with a
// remark; refuses what contradicts its keys, its plan or a bound; and goes on with
// it, from where on changes show.
func TestOlderJournals(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/version1")); err != nil {
		t.Fatal(err)
	}
	want, remarks, err := contentsOf(dir)
	if err != nil || len(remarks) != 1 || !strings.Contains(remarks[0], "warning: 13 lines without checksums") {
		t.Fatalf("%v, remarks %q", err, remarks)
	}
	if !strings.Contains(want, `"times_us":[13.575`) {
		t.Fatalf("the campaign holds %s", want)
	}
	plan, journal := string(fileOf(t, dir, planFile)), string(fileOf(t, dir, journalFile))
	last := strings.LastIndex(journal, `"trial"`)
	change := func(name, from, to string) error {
		t.Helper()
		text := plan
		if name == journalFile {
			text = journal[last:]
		}
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %s", name, from)
		}
		text = strings.Replace(text, from, to, 1)
		if name == journalFile {
			text = journal[:last] + text
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := contentsOf(dir)
		for name, text := range map[string]string{planFile: plan, journalFile: journal} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return err
	}
	for _, tc := range []struct{ file, from, to, says string }{
		{journalFile, `"ir":"`, `"ir":"` + strings.Repeat("0", 64) + `","note":"`, "trials.jsonl:12: key is not that of its trial"},
		{journalFile, `"bytes":2048`, `"bytes":1024`, "trials.jsonl:12: key is not that of its trial"},
		{journalFile, `"bytes":2048`, `"bytes":3072`, "trials.jsonl:12: trial of 3072 bytes, placement in, which the plan does not ask for"},
		{journalFile, `"placement":"in"`, `"placement":"out"`, "trials.jsonl:12: trial of 2048 bytes, placement out, which"},
		{journalFile, `"protocol":"LL"`, `"protocol":"Simple"`, "trials.jsonl:12: key is not"},
		{journalFile, `"times_us":[13`, `"times_us":[0`, "trials.jsonl:12: time of 0.57"},
		{planFile, `dtype = "f32"`, `dtype = "f16"`, "trials.jsonl:3: key is not"},
		{planFile, `hash = "1a`, `hash = "2a`, "trials.jsonl:3: key is not"},
		{planFile, `sizes = [1024, `, `sizes = [4096, `, "trials.jsonl:3: trial of 1024 bytes"},
		{planFile, `placement = "in"`, `placement = "on"`, `campaign.toml: placement "on"`},
	} {
		if err := change(tc.file, tc.from, tc.to); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s for %s: %v, want %s", tc.to, tc.from, err, tc.says)
		}
	}

	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tally, _ := c.Tally()
	tally.Tuned++
	if err := c.SetTally(tally); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	journal = string(fileOf(t, dir, journalFile))
	if _, remarks, err = contentsOf(dir); err != nil || len(remarks) != 1 {
		t.Fatalf("%v, remarks %q", err, remarks)
	}
	// What was there before is covered from now on, and so is the plan.
	if err := change(journalFile, `"enumerated":11`, `"enumerated":12`); err == nil || !strings.Contains(err.Error(), "checksum does not match") {
		t.Errorf("%v, want that the checksum does not match", err)
	}
	journal = strings.Replace(journal, `"enumerated":11`, `"enumerated":12`, 1)
	last = 0
	if err := change(journalFile, `"v":1`, `"v":1`); err == nil || !strings.Contains(err.Error(), "trials.jsonl:14: checksum does not match") {
		t.Errorf("%v, want that the checksum of line 14 does not match", err)
	}
}
