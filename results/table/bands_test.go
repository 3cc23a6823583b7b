package table

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/topologies"
)

// nvlink is a model of one node of NVLink: programs within 10 %, the library within a
// factor of 2, up to 64K.
func nvlink() *intervals.Model {
	below := func(ran string, i intervals.Interval) intervals.Entry {
		return intervals.Entry{Zone: intervals.Zone{Ran: ran, System: "NVLink", Network: "none", Collective: "allreduce", Sizes: "below 64K"}, Interval: i, Sets: 3, Rows: 9}
	}
	return &intervals.Model{
		Name:   "two",
		System: intervals.System{Kind: "NVLink", Network: "none"},
		Table: &intervals.Table{Kinds: map[string][]string{"library, one node": {"measured", "nccl", "ring"}, "program, one node": {"ring"}}, Entries: []intervals.Entry{
			below(intervals.Library, intervals.Interval{Low: 0.5, Median: 1, High: 2}),
			below(intervals.Program, intervals.Interval{Low: 0.9, Median: 1, High: 1.1}),
		}},
	}
}

func TestBands(t *testing.T) {
	for _, tc := range []struct {
		name, algorithm, source, collective string
		bytes                               int64
		speedup                             float64 // 0: no baseline
		given                               bool
		verdict, lacks                      string
		band                                bool
	}{
		{"far ahead", "ring", "template", "allreduce", 1024, 3, false, Surely, "", true},
		{"far behind", "ring", "template", "allreduce", 1024, 0.3, false, SurelyNot, "", true},
		{"within the library's error", "ring", "template", "allreduce", 1024, 1.5, false, Unsure, "", true},
		{"over measured times", "ring", "template", "allreduce", 1024, 1.5, true, Surely, "", true},
		{"no baseline", "ring", "template", "allreduce", 1024, 0, false, "", "", true},
		{"another kind of program", "tree", "template", "allreduce", 1024, 3, false, Unsupported, "programs of tree", false},
		{"a find", "ring", "synthesised", "allreduce", 1024, 3, false, Unsupported, "programs of synthesised ring", false},
		{"another size", "ring", "template", "allreduce", 1 << 20, 3, false, Unsupported, "program, NVLink, one node, allreduce, 1M to 16M; library, NVLink, one node, allreduce, 1M to 16M", false},
		{"another collective", "ring", "template", "alltonext", 1024, 3, false, Unsupported, "alltonext", false},
	} {
		r := Row{Algorithm: tc.algorithm, Source: tc.source, Collective: tc.collective, Bytes: tc.bytes, TimeUS: 10}
		if tc.speedup > 0 {
			b := &results.Baseline{Name: "ring", TimeUS: 10 * tc.speedup, Data: results.NoData}
			if tc.given {
				b.Data = results.Checked
			}
			r.standAt(results.Point{Baseline: b}, nil)
		}
		r.addBands(nvlink())
		verdict := ""
		if r.SpeedupVerdict != nil {
			verdict = *r.SpeedupVerdict
		}
		if verdict != tc.verdict || strings.Join(r.lacks, "; ") != tc.lacks || (r.TimeBandUS != nil) != tc.band || r.Unsupported != (tc.lacks != "") {
			t.Errorf("%s: verdict %q, lacks %q, time band %v, unsupported %t", tc.name, verdict, r.lacks, r.TimeBandUS, r.Unsupported)
		}
		if r.Wins() != (tc.verdict == Surely) {
			t.Errorf("%s: wins %t", tc.name, r.Wins())
		}
		if tc.band && math.Abs(r.TimeBandUS[0]-9)+math.Abs(r.TimeBandUS[1]-11) > 1e-9 {
			t.Errorf("%s: %v, want 9 to 11", tc.name, *r.TimeBandUS)
		}
		if r.addBands(nil); r.TimeBandUS != nil || r.SpeedupBand != nil || r.SpeedupVerdict != nil || r.Unsupported {
			t.Errorf("%s: a measured row has a band", tc.name)
		}
	}
}

// A baseline by an algorithm that nobody measured says nothing of the speedup, but the
// program's time stands.
func TestBandsOfAnUnmeasuredBaseline(t *testing.T) {
	r := Row{Algorithm: "ring", Source: "template", Collective: "allreduce", Bytes: 1024, TimeUS: 10}
	r.standAt(results.Point{Baseline: &results.Baseline{Name: "nvls ×16 Simple", TimeUS: 30, Data: results.NoData}}, nil)
	r.addBands(nvlink())
	if *r.SpeedupVerdict != Unsupported || r.SpeedupBand != nil || r.TimeBandUS == nil || strings.Join(r.lacks, "; ") != "the library's nvls" {
		t.Errorf("verdict %s, lacks %q, time band %v", *r.SpeedupVerdict, r.lacks, r.TimeBandUS)
	}
}

// The forms of a table with each verdict.
func TestBandsGolden(t *testing.T) {
	winners, err := Build(fullCampaign(t))
	if err != nil {
		t.Fatal(err)
	}
	winners.Campaign.Simulated, winners.model = true, nvlink()
	winners.Rows[2].Algorithm = "tree"
	for i := range winners.Rows {
		winners.Rows[i].addBands(winners.model)
	}
	winners.addNotes()
	for _, name := range Formats() {
		var out bytes.Buffer
		if err := winners.Write(&out, name); err != nil {
			t.Fatal(err)
		}
		golden(t, "bands."+name, named(out.Bytes(), winners))
	}
}

// A simulated campaign on a system of the catalogue has bands in all forms.
func TestBandsOfCampaign(t *testing.T) {
	text, ok := topologies.Source("l40s-4")
	if !ok {
		t.Fatal("no l40s-4 in the catalogue")
	}
	plan := resultstest.Plan(1024)
	plan.Executor, plan.Topology.Name, plan.Topology.Text = "sim", "l40s-4", string(text)
	c := resultstest.Create(t, plan)
	program := irtest.Ring(4, 1, 0, true)
	trial := resultstest.Trial(t, c, program, "ring", "LL", 32768, 1024, 10)
	trial.Data = results.NoData
	resultstest.Append(t, c, trial)
	if err := c.SetTally(results.Tally{Finished: true, Enumerated: 1, Tuned: 1, Points: []results.Point{
		{Bytes: 1024, Placement: "in", Baseline: &results.Baseline{Name: "ring LL", Program: program.Hash(), Protocol: "LL", TileBytes: 32768}},
	}}); err != nil {
		t.Fatal(err)
	}
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	r := winners.Rows[0]
	if r.TimeBandUS == nil || r.TimeBandUS[0] >= 10 || r.TimeBandUS[1] <= 10 || r.SpeedupBand == nil || *r.SpeedupVerdict != Unsure {
		t.Errorf("%+v: want bands around 10 us, and a ring no faster than itself", r)
	}
	for name, want := range map[string]string{"table": " unsure ", "json": `"speedup_verdict": "unsure"`, "csv": ",unsure,", "md": "| unsure |"} {
		var out bytes.Buffer
		if err := winners.Write(&out, name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %q:\n%s", name, want, &out)
		}
		if name != "csv" && !strings.Contains(out.String(), "unsure: 1 of 1 speedup") {
			t.Errorf("%s has no note:\n%s", name, &out)
		}
	}
	// Times from a file were measured: only the winner's may be off.
	winners.Compare(func(int64, string) results.Point {
		return results.Point{Baseline: &results.Baseline{Name: "file", TimeUS: 30}}
	})
	if r := winners.Rows[0]; *r.SpeedupVerdict != Surely || len(winners.Notes) != 0 {
		t.Errorf("%v %v: want it surely faster than a measured time three times as long", *r.SpeedupVerdict, winners.Notes)
	}
}
