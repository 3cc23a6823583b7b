package export

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// t4Rules is what the T4 results schema 1.0.0 asks for, a place a row: what is
// there, whether it must be, and of which values. * stands for every element.
var t4Rules = []struct {
	place   string
	must    bool
	kind    string // of JSON's; of measurements' values any of three
	pattern string
	oneOf   []string
}{
	{place: "schema_version", kind: "string", pattern: `^[0-9]{1,}.[0-9]{1,}.[0-9]{1,}$`},
	{place: "results", kind: "array"},
	{place: "results/*/timestamp", kind: "string"},
	{place: "results/*/configuration", must: true, kind: "object"},
	{place: "results/*/objectives", kind: "array"},
	{place: "results/*/times", must: true, kind: "object"},
	{place: "results/*/times/compilation_time", kind: "number"},
	{place: "results/*/times/runtimes", kind: "array"},
	{place: "results/*/times/framework", kind: "number"},
	{place: "results/*/times/search_algorithm", kind: "number"},
	{place: "results/*/times/validation", kind: "number"},
	{place: "results/*/invalidity", must: true, oneOf: []string{"timeout", "compile", "runtime", "correctness", "constraints", "correct"}},
	{place: "results/*/correctness", must: true, kind: "number"},
	{place: "results/*/measurements", kind: "array"},
	{place: "results/*/measurements/*/name", kind: "string"},
	{place: "results/*/measurements/*/value", kind: "number string array"},
	{place: "results/*/measurements/*/unit", kind: "string"},
}

// holdT4 holds a document to the rules.
func holdT4(document any) error {
	for _, rule := range t4Rules {
		at := []any{document}
		words := strings.Split(rule.place, "/")
		for i, word := range words {
			var next []any
			for _, v := range at {
				switch x := v.(type) {
				case []any:
					if word != "*" {
						return fmt.Errorf("%s: an array at %s", rule.place, word)
					}
					next = append(next, x...)
				case map[string]any:
					value, there := x[word]
					if !there && rule.must && i == len(words)-1 {
						return fmt.Errorf("%s is missing", rule.place)
					}
					if there {
						next = append(next, value)
					}
				}
			}
			at = next
		}
		for _, v := range at {
			kind := map[bool]string{true: "null"}[v == nil]
			switch v.(type) {
			case string:
				kind = "string"
			case float64:
				kind = "number"
			case []any:
				kind = "array"
			case map[string]any:
				kind = "object"
			}
			text, _ := v.(string)
			if rule.kind != "" && !slices.Contains(strings.Fields(rule.kind), kind) {
				return fmt.Errorf("%s is of kind %s", rule.place, kind)
			}
			if rule.oneOf != nil && !slices.Contains(rule.oneOf, text) {
				return fmt.Errorf("%s is %q", rule.place, text)
			}
			if rule.pattern != "" && !regexp.MustCompile(rule.pattern).MatchString(text) {
				return fmt.Errorf("%s is %q", rule.place, text)
			}
		}
	}
	return nil
}

// TestT4Rules holds the oracle itself to refusing what the schema refuses.
func TestT4Rules(t *testing.T) {
	right := `{"schema_version":"1.0.0","results":[{"configuration":{},"times":{},"invalidity":"correct","correctness":1,"measurements":[{"name":"time","value":1,"unit":"ms"}]}]}`
	for _, tc := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"invalidity":"correct",`, ``, "invalidity is missing"},
		{`"correct"`, `"ok"`, "invalidity"},
		{`"correctness":1`, `"correctness":"1"`, "correctness"},
		{`"value":1`, `"value":null`, "value"},
		{`"1.0.0"`, `"one"`, "schema_version"},
		{`"times":{}`, `"times":[]`, "times"},
		{`"times":{}`, `"times":{"validation":"1"}`, "validation"},
	} {
		var document any
		if err := json.Unmarshal([]byte(strings.Replace(right, tc.from, tc.to, 1)), &document); err != nil {
			t.Fatal(err)
		}
		err := holdT4(document)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s for %s: %v", tc.to, tc.from, err)
		}
	}
}

// readT4 reads the files of an export, each held to the schema's rules.
func readT4(t rapid.TB, dir string, r Report) map[string]t4File {
	all := map[string]t4File{}
	for _, file := range r.Files {
		text, err := os.ReadFile(filepath.Join(dir, file.Name))
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		if err := holdT4(document); err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		var space t4File
		if err := json.Unmarshal(text, &space); err != nil {
			t.Fatal(err)
		}
		all[file.Name] = space
	}
	return all
}

func TestExportT4(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(1024, 3000))
	ring, tree := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 1, 1, true)
	fast := resultstest.Trial(t, c, ring, "ring", "LL", 32768, 1024, 4, 5, 6)
	again := fast
	again.Repeat, again.TimesUS = 1, []float64{9}
	late := resultstest.Trial(t, c, tree, "tree", "Simple", 2<<20, 1024)
	late.Outcome, late.Note = results.TimedOut, "no answer within 1 s"
	liar := resultstest.Trial(t, c, tree, "tree", "LL", 32768, 1024, 1)
	liar.Outcome = results.Wrong
	dead := resultstest.Trial(t, c, tree, "tree", "LL", 32768, 3000)
	dead.Outcome = results.Crashed
	reference := resultstest.Trial(t, c, irtest.Ring(4, 1, 2, true), "vendor", "LL", 32768, 1024, 1)
	reference.Reference = true
	resultstest.Append(t, c, again, late, fast, liar, dead, reference)
	dir := t.TempDir()
	report, err := Write(c, Options{To: "t4", Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	all := readT4(t, dir, report)
	if len(all) != 2 {
		t.Fatalf("%d files", len(all))
	}
	space := all["colltune-allreduce-4r-in-1K-t4.json"]
	if m := space.Metadata; m.Bytes != 1024 || m.Placement != "in" || m.TimeUnit != "milliseconds" || len(m.Provenance) == 0 {
		t.Errorf("metadata %+v", m)
	}
	type told struct {
		Algorithm, Protocol, Invalidity string
		Correctness                     int
		Runtimes                        []float64
		Together                        float64
		Time                            any
	}
	var got []told
	for _, r := range space.Results {
		got = append(got, told{r.Configuration.Algorithm, r.Configuration.Protocol, r.Invalidity, r.Correctness, r.Times.Runtimes, r.Times.Benchmark, r.Measurements[0].Value})
	}
	want := []told{
		{"ring", "LL", "correct", 1, []float64{0.004, 0.005, 0.006, 0.009}, 0.024, 0.0055},
		{"tree", "LL", "correctness", 0, []float64{}, 0, "RuntimeFailedConfig"},
		{"tree", "Simple", "timeout", 0, []float64{}, 0, "RuntimeFailedConfig"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if r := all["colltune-allreduce-4r-in-3000-t4.json"].Results; len(r) != 1 || r[0].Invalidity != "runtime" {
		t.Errorf("at 3000 bytes: %+v", r)
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool {
		return strings.HasPrefix(n, "configurations left out that were only run to be compared with: 1")
	}) {
		t.Errorf("notes %q", report.Notes)
	}
}

// TestT4HoldsTheWinners draws campaigns: the least time of each file is the winning
// table's, every configuration is there once, and another order of trials gives the
// same bytes.
func TestT4HoldsTheWinners(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type made struct {
			algorithm, size, repeat int
			protocol                string
			us                      []float64
			outcome                 results.Outcome
		}
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) made {
			return made{rapid.IntRange(0, 2).Draw(t, "algorithm"), rapid.IntRange(0, 2).Draw(t, "size"), rapid.IntRange(0, 2).Draw(t, "repeat"),
				rapid.SampledFrom([]string{"LL", "Simple"}).Draw(t, "protocol"), rapid.SliceOfN(rapid.Float64Range(0.01, 1e7), 1, 3).Draw(t, "us"),
				rapid.SampledFrom(append(results.Outcomes(), results.OK, results.OK, results.OK)).Draw(t, "outcome")}
		}), 1, 20).Draw(rt, "trials")
		sizes := []int64{1000, 2048, 1 << 20}
		var trials []results.Trial
		seen := map[results.Key]bool{}
		plan := resultstest.Plan(sizes...)
		for _, m := range all {
			x := resultstest.LibraryTrial(strings.Repeat("a", m.algorithm+1), sizes[m.size], 1)
			x.Protocol, x.Repeat, x.Outcome, x.TimesUS = m.protocol, m.repeat, m.outcome, m.us
			if x.Outcome != results.OK {
				x.TimesUS = nil
			}
			if k := plan.Key(&x); !seen[k] {
				seen[k] = true
				trials = append(trials, x)
			}
		}
		var written [2]string
		for turn := range written {
			c := resultstest.Create(t, plan)
			resultstest.Append(t, c, trials...)
			spaces, _, err := t4Spaces(c)
			if err != nil {
				rt.Fatal(err)
			}
			text, err := json.Marshal(spaces)
			if err != nil {
				rt.Fatal(err)
			}
			written[turn] = string(text)
			var documents []any
			if err := json.Unmarshal(text, &documents); err != nil {
				rt.Fatal(err)
			}
			for _, d := range documents {
				if err := holdT4(d); err != nil {
					rt.Fatal(err)
				}
			}
			holdWinners(rt, c, spaces)
			slices.Reverse(trials)
		}
		if written[0] != written[1] {
			rt.Fatal("trials in another order give other files")
		}
	})
}

// holdWinners compares the least time of each space with the winning table.
func holdWinners(t rapid.TB, c *results.Campaign, spaces []t4File) {
	winners, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	best := map[int64]float64{}
	for _, space := range spaces {
		once := map[t4Configuration]bool{}
		for _, r := range space.Results {
			if once[r.Configuration] {
				t.Fatalf("%+v is there twice", r.Configuration)
			}
			once[r.Configuration] = true
			ms, timed := r.Measurements[0].Value.(float64)
			if timed != (r.Invalidity == "correct") || timed != (r.Correctness == 1) {
				t.Fatalf("%+v", r)
			}
			if b := best[space.Metadata.Bytes]; timed && (b == 0 || ms < b) {
				best[space.Metadata.Bytes] = ms
			}
		}
	}
	if len(best) != len(winners.Rows) {
		t.Fatalf("%d sizes have a best, %d a winner", len(best), len(winners.Rows))
	}
	for _, row := range winners.Rows {
		if math.Abs(best[row.Bytes]*1e3-row.TimeUS) > 1e-9*row.TimeUS {
			t.Fatalf("at %d bytes %g ms, the winner takes %g us", row.Bytes, best[row.Bytes], row.TimeUS)
		}
	}
}
