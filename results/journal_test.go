package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// threeTrials is a campaign's journal: an executor, three trials, a tally.
func threeTrials(t testing.TB) (dir string, journal []byte) {
	t.Helper()
	c := newCampaign(t, testPlan())
	p := testRing(4, 1, 0, true)
	for _, n := range []int64{1024, 2048, 4096} {
		appendAll(t, c, testTrial(t, c, p, "ring", "LL", 32768, n, float64(n)/100))
	}
	if err := c.SetTally(Tally{Finished: true, Enumerated: 1, Tuned: 1}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(filepath.Join(c.Dir(), journalFile))
	if err != nil {
		t.Fatal(err)
	}
	return c.Dir(), journal
}

// A journal cut anywhere loses only the cut line, and accepts new lines afterwards.
func TestTornTailIsLostAlone(t *testing.T) {
	dir, whole := threeTrials(t)
	path := filepath.Join(dir, journalFile)
	for cut := 0; cut <= len(whole); cut += 7 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(whole[:cut], []byte("\n"))
		wantTrials := min(max(lines-2, 0), 3) // after the plan and the executor

		reader, err := OpenReadOnly(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got := len(reader.Trials()); got != wantTrials {
			t.Fatalf("cut at %d: %d trials, want %d", cut, got, wantTrials)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, whole[:cut]) {
			t.Fatalf("cut at %d: reading changed the journal", cut)
		}

		c, err := Open(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		keep := int64(bytes.LastIndexByte(whole[:cut], '\n') + 1)
		if c.journal.torn != int64(cut)-keep {
			t.Fatalf("cut at %d: %d bytes torn, want %d", cut, c.journal.torn, int64(cut)-keep)
		}
		if _, err := c.SetExecutor(testExecutor); err != nil {
			t.Fatal(err)
		}
		appendAll(t, c, testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 8192, 9))
		c.Close()
		back, err := OpenReadOnly(dir)
		if err != nil {
			t.Fatalf("cut at %d, after a line was added: %v", cut, err)
		}
		if got := len(back.Trials()); got != wantTrials+1 {
			t.Fatalf("cut at %d: %d trials after one was added, want %d", cut, got, wantTrials+1)
		}
	}
}

// Junk before the last line is an error that names the line: a kill leaves none there.
func TestJunkIsNamed(t *testing.T) {
	dir, whole := threeTrials(t)
	lines := strings.SplitAfter(string(whole), "\n")
	for _, c := range []struct{ name, line, want string }{
		{"not JSON", "junk\n", "trials.jsonl:3: not a record: invalid character 'j'"},
		{"empty", "\n", "trials.jsonl:3: not a record: empty line"},
		{"nul", "\x00\x00\n", "trials.jsonl:3: not a record"},
		{"half a line", lines[2][:40] + "\n", "trials.jsonl:3: not a record"},
		{"two lines in one", strings.TrimSuffix(lines[2], "\n") + lines[3], "trials.jsonl:3: not a record"},
		{"more on the line", strings.TrimSuffix(lines[2], "\n") + "x\n", "trials.jsonl:3: not a record: more after its end"},
		{"later version", `{"v":3,"news":{}}` + "\n", "trials.jsonl:3: record of version 3, written by a later colltune: this one reads versions 1 to 2"},
		{"nothing in it", `{"v":2}` + "\n", "trials.jsonl:3: want exactly one of"},
		{"unknown field", strings.Replace(lines[2], `"bytes"`, `"bites"`, 1), `trials.jsonl:3: not a record: json: unknown field "bites"`},
		{"path for a hash", replaceField(t, lines[2], "ir", "../../etc/passwd"), `trials.jsonl:3: ir "../../etc/passwd": want 64 hexadecimal digits`},
		{"outcome", replaceField(t, lines[2], "outcome", "fine"), `trials.jsonl:3: outcome "fine": want one of`},
		{"protocol", replaceField(t, lines[2], "protocol", "ll"), `trials.jsonl:3: protocol "ll": want LL, LL128 or Simple`},
		{"no time", replaceField(t, lines[2], "times_us", []float64{}), "trials.jsonl:3: times_us: none"},
		{"negative time", replaceField(t, lines[2], "times_us", []float64{-1}), "trials.jsonl:3: times_us: time of -1 us"},
		{"size", replaceField(t, lines[2], "bytes", -5), "trials.jsonl:3: bytes -5: want at least 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := append([]string{}, lines...)
			changed[2] = c.line
			if err := os.WriteFile(filepath.Join(dir, journalFile), []byte(strings.Join(changed, "")), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			var bad *LineError
			if !errors.As(err, &bad) || bad.Line != 3 {
				t.Errorf("%#v, want a LineError at line 3", err)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, journalFile)); string(after) != strings.Join(changed, "") {
				t.Error("the journal was changed")
			}
		})
	}
}

// replaceField changes one field of a trial's line.
func replaceField(t *testing.T, line, field string, value any) string {
	t.Helper()
	var record map[string]any
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		t.Fatal(err)
	}
	record["trial"].(map[string]any)[field] = value
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// A write that goes wrong leaves no half line behind, and the journal says so
// ever after where it could not be helped.
func TestFailedAppend(t *testing.T) {
	c := newCampaign(t, testPlan())
	trial := testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 3)
	c.journal.file.Close()
	if err := c.Append(trial); err == nil {
		t.Fatal("appended to a closed file")
	}
	if _, known := c.Lookup(trial.Key); known {
		t.Error("a trial that is not in the journal counts")
	}
	if err := c.Append(trial); err == nil || !strings.Contains(err.Error(), "unfinished line") {
		t.Errorf("%v, want the reason why nothing can be appended", err)
	}
}

func TestAppendRefusesWhatReadersWould(t *testing.T) {
	c := newCampaign(t, testPlan())
	good := testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 3)
	for _, bad := range []struct {
		name   string
		change func(*Trial)
		want   string
	}{
		{"no program", func(r *Trial) { r.Program = fmt.Sprintf("%064x", 1); *r = keyed(c, *r) }, "its program 000000000000 is not in the campaign"},
		{"no executor", func(r *Trial) { r.Fingerprint = fmt.Sprintf("%064x", 1) }, "an executor that no record before it names"},
		{"no key", func(r *Trial) { r.Key = "" }, "key"},
		{"another's key", func(r *Trial) { r.Key = fmt.Sprintf("%064x", 1) }, "key is not that of its trial under this plan"},
		{"a size that was not asked for", func(r *Trial) { r.Bytes = 1000; *r = keyed(c, *r) }, "trial of 1000 bytes, placement in, which the plan does not ask for"},
		{"zero time", func(r *Trial) { r.TimesUS = []float64{0} }, "times_us: time of 0 us: want 1e-06 to 1e+12"},
		{"hardly any time", func(r *Trial) { r.TimesUS = []float64{5e-324} }, "times_us: time of 5e-324 us"},
		{"a time beyond all", func(r *Trial) { r.TimesUS = []float64{1e308} }, "times_us: time of 1e+308 us"},
	} {
		trial := good
		bad.change(&trial)
		if err := c.Append(trial); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %s", bad.name, err, bad.want)
		}
	}
	named := Tally{Points: []Point{{Bytes: 1024, Placement: "in", Baseline: &Baseline{Name: "ring", Program: "c961"}}}}
	if err := c.SetTally(named); err == nil || !strings.Contains(err.Error(), "64 hexadecimal digits") {
		t.Errorf("a baseline that is no program: %v", err)
	}
	// The same trial twice is one, in one call or in two.
	appendAll(t, c, good, good)
	appendAll(t, c, good)
	if n := len(c.Trials()); n != 1 {
		t.Errorf("%d trials, want 1", n)
	}
}

// A journal that lost the line of its executor is an error, and not a search without
// results.
func TestTrialsNeedTheirExecutor(t *testing.T) {
	dir, journal := threeTrials(t)
	first, rest, _ := bytes.Cut(version1(journal), []byte("\n"))
	if !bytes.Contains(first, []byte(`"executor"`)) {
		t.Fatalf("the first line is %s", first)
	}
	if err := os.WriteFile(filepath.Join(dir, journalFile), rest, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := OpenReadOnly(dir)
	if bad := (*LineError)(nil); !errors.As(err, &bad) || bad.Line != 1 {
		t.Errorf("%v, want an error about line 1", err)
	}
}

// A record's length is its own, whatever else is written with it.
func TestLongRecordsTogether(t *testing.T) {
	c := newCampaign(t, testPlan())
	first := testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 3)
	second := testTrial(t, c, testRing(4, 1, 1, true), "ring", "LL", 32768, 1024, 3)
	first.Note = strings.Repeat("n", maxLine*3/5)
	second.Note = first.Note
	appendAll(t, c, first, second)
	first.Key, first.Note = second.Key[:63]+"x", strings.Repeat("n", maxLine)
	if err := c.journal.append(record{Trial: &first}); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("a line too long: %v", err)
	}
}

func FuzzReadJournal(f *testing.F) {
	_, journal := threeTrials(f)
	f.Add(journal)
	f.Add(journal[:len(journal)-5])
	f.Add(version1(journal))
	f.Add(append(version1(journal), journal...))
	f.Add([]byte(`{"v":1,"tally":{"finished":true,"enumerated":-1}}` + "\n"))
	f.Add([]byte(`{"v":1,"trial":null}` + "\n" + `{"v":1,"executor":{}}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var records []record
		to, err := readJournal(bytes.NewReader(text), "trials.jsonl", func(r record) error { records = append(records, r); return nil })
		if err != nil {
			return
		}
		if to.end+to.torn != int64(len(text)) || bytes.IndexByte(text[to.end:], '\n') >= 0 {
			t.Fatalf("%d whole and %d torn of %d bytes", to.end, to.torn, len(text))
		}
		if lines := bytes.Count(text, []byte("\n")); lines != len(records) {
			t.Fatalf("%d records of %d lines", len(records), lines)
		}
		// What was read can be written and is read back the same.
		var again bytes.Buffer
		for _, r := range records {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			again.Write(append(line, '\n'))
		}
		n := 0
		if _, err := readJournal(&again, "again", func(r record) error {
			if !equalJSON(r, records[n]) {
				t.Fatalf("record %d read back differently", n)
			}
			n++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkReadJournal(b *testing.B) {
	_, journal := threeTrials(b)
	lines := bytes.SplitAfter(journal, []byte("\n"))
	text := bytes.Repeat(lines[1], 10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := readJournal(bytes.NewReader(text), "trials.jsonl", func(record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	c := newCampaign(b, testPlan())
	trial := testTrial(b, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 3)
	for i := 0; b.Loop(); i++ {
		trial.TileBytes = int64(i + 1)
		trial = keyed(c, trial)
		if err := c.Append(trial); err != nil {
			b.Fatal(err)
		}
	}
}
