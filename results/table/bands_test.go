package table

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/topologies"
)

// nvlink is a model of one node of NVLink: programs within 10 %, what the library runs by closed forms
// within a factor of 2, up to 64K. Half of the rows of all-reduces up and down are outside.
func nvlink() *intervals.Model {
	system := intervals.System{Link: "NVLink", Network: "none", Arch: "hopper"}
	m := &intervals.Model{Name: "two", System: system, Table: &intervals.Table{Constants: []string{""}},
		UpAndDown: func(hash string) bool { return hash == "tree" }}
	for _, of := range []struct {
		clock string
		i     intervals.Interval
	}{
		{intervals.Instructions, intervals.Interval{Low: 0.9, Median: 1, High: 1.1}},
		{"measured", intervals.Interval{Low: 0.5, Median: 1, High: 2}},
		{"nccl", intervals.Interval{Low: 0.5, Median: 1, High: 2}},
		{"ring", intervals.Interval{Low: 0.5, Median: 1, High: 2}},
	} {
		zones := system.Zones(intervals.Call{Clock: of.clock, Collective: "allreduce", Bytes: 1024})
		m.Table.Entries = append(m.Table.Entries, intervals.Entry{Zone: zones[2], Interval: of.i, Machines: 3, Rows: 9})
	}
	tree := system.Zones(intervals.Call{Clock: intervals.Instructions, Protocol: "Simple", Collective: "allreduce", UpAndDown: true, Bytes: 1024})
	m.Table.Entries = append(m.Table.Entries, intervals.Entry{Zone: tree[0], Interval: intervals.Interval{Low: 0.5, Median: 1, High: 1.5}, Rows: 30, Held: 0.5})
	slices.SortFunc(m.Table.Entries, func(a, b intervals.Entry) int { return intervals.CompareZones(a.Zone, b.Zone) })
	return m
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
		{"a find", "ring", "synthesised", "allreduce", 1024, 3, false, Surely, "", true},
		{"another size", "ring", "template", "allreduce", 1 << 20, 3, false, Unsupported, "NVLink, one node, hopper, Simple, allreduce, 1M to 16M; the library's ring, NVLink, one node, hopper, Simple, allreduce, 1M to 16M", false},
		{"other primitives", "ring", "template", "alltonext", 1024, 3, false, Unsupported, "NVLink, one node, send, receive, below 64K; the library's ring, NVLink, one node, send, receive, below 64K", false},
	} {
		r := Row{Algorithm: tc.algorithm, Source: tc.source, Collective: tc.collective, Protocol: "Simple", Bytes: tc.bytes, TimeUS: 10}
		if tc.speedup > 0 {
			b := &results.Baseline{Name: "ring Simple", TimeUS: 10 * tc.speedup, Data: results.NoData}
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
	r.standAt(results.Point{Baseline: &results.Baseline{Name: "nvls Simple", TimeUS: 30, Data: results.NoData}}, nil)
	r.addBands(nvlink())
	if *r.SpeedupVerdict != Unsupported || r.SpeedupBand != nil || r.TimeBandUS == nil || strings.Join(r.lacks, "; ") != "the library's nvls, NVLink, one node, hopper, Simple, allreduce, below 64K" {
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
	winners.Rows[2].program = "tree"
	for i := range winners.Rows {
		winners.Rows[i].addBands(winners.model)
	}
	winners.addNotes()
	for _, name := range Formats() {
		var out bytes.Buffer
		if err := winners.Write(&out, name, Look{}); err != nil {
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
		{Bytes: 1024, Placement: "in", Baseline: &results.Baseline{Name: "ring ×1 LL", Program: program.Hash(), Protocol: "LL", TileBytes: 32768}},
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
	for name, want := range map[string]string{"table": " unsure", "json": `"speedup_verdict": "unsure"`, "csv": ",unsure,", "md": "| unsure |"} {
		var out bytes.Buffer
		if err := winners.Write(&out, name, Look{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %q:\n%s", name, want, &out)
		}
		if err := winners.Write(&out, name, Look{Wide: true}); err != nil {
			t.Fatal(err)
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

// wantVerdict is what an interval of speedups amounts to.
func wantVerdict(band *[2]float64) string {
	switch {
	case band == nil:
		return Unsupported
	case band[0] > 1:
		return Surely
	case band[1] < 1:
		return SurelyNot
	}
	return Unsure
}

// The baseline of a row is the library as called where its state was asked for, and else the fastest
// state; verdicts are what the times and their intervals say; a vendor's prediction is never faster
// without a mark, and an unknown time has no speedup.
func TestVerdictProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := results.States()
		one := func(state string) results.Baseline {
			b := results.Baseline{Name: "ring " + state, Release: "nccl-2.30.7", Registered: state, Evidence: rapid.SampledFrom(results.Evidences()).Draw(t, "evidence of "+state)}
			if b.Evidence != results.EvidenceUnknown {
				b.TimeUS = rapid.Float64Range(1, 100).Draw(t, "us of "+state)
			}
			return b
		}
		called := rapid.SampledFrom(states).Draw(t, "called")
		as := one(called)
		p := results.Point{Bytes: 1024, Placement: "in", Baseline: &as}
		for _, state := range states {
			if state != called && rapid.Bool().Draw(t, "has "+state) {
				p.Others = append(p.Others, one(state))
			}
		}
		r := Row{Algorithm: "ring", Source: "template", Collective: "allreduce", Bytes: 1024, TimeUS: rapid.Float64Range(1, 100).Draw(t, "us")}
		r.named = rapid.Bool().Draw(t, "named")
		r.standAt(p, nil)
		r.addBands(nvlink())

		all := append([]results.Baseline{as}, p.Others...)
		unknown := slices.ContainsFunc(all, func(b results.Baseline) bool { return b.TimeUS == 0 })
		least := slices.MinFunc(all, func(a, b results.Baseline) int { return int(1e6 * (a.TimeUS - b.TimeUS)) }).TimeUS
		want := least
		if r.named {
			want = as.TimeUS
		}
		switch {
		case want == 0 && (r.BaselineTimeUS != nil || r.Speedup != nil || r.SpeedupBand != nil || *r.BaselineEvidence != results.EvidenceUnknown):
			t.Fatalf("%+v of an unknown time", r)
		case want > 0 && (r.BaselineTimeUS == nil || *r.BaselineTimeUS > want+2e-6 || *r.Speedup != *r.BaselineTimeUS/r.TimeUS):
			t.Fatalf("baseline of %v us, want %v", r.BaselineTimeUS, want)
		}
		if (r.SpeedupVerdict == nil) != (as.TimeUS == 0) || (r.SpeedupVerdictBest == nil) != unknown {
			t.Fatalf("verdicts %v and %v of %+v", r.SpeedupVerdict, r.SpeedupVerdictBest, all)
		}
		if v := r.baselineVerdict(); v != nil && *v != wantVerdict(r.SpeedupBand) {
			t.Fatalf("verdict %s of %v", *v, *r.SpeedupBand)
		}
		surely := func(v *string) bool { return v != nil && *v == Surely }
		predicted := as.Evidence == results.EvidencePredicted || !unknown && r.best.Evidence == results.EvidencePredicted
		word := r.Verdict()
		switch both := surely(r.SpeedupVerdict) && surely(r.SpeedupVerdictBest); {
		case (word == Surely) != (both && !predicted), (word == "faster (predicted)") != (both && predicted):
			t.Fatalf("%q of %+v", word, all)
		case strings.HasPrefix(word, Surely) != surely(r.SpeedupVerdict):
			t.Fatalf("%q where it is as called %v", word, r.SpeedupVerdict)
		case called == results.RegisteredNone && surely(r.SpeedupVerdict) && !both && word != "faster (unregistered)" && word != "faster (unregistered, predicted)":
			t.Fatalf("%q where it is faster as called alone", word)
		}
		if r.LeaveToLibrary && r.Wins() {
			t.Fatalf("left to the library, and faster: %+v", r)
		}
	})
}

// Words of verdicts where one or two states are known.
func TestVerdictWords(t *testing.T) {
	none := func(us float64) results.Baseline {
		return results.Baseline{Name: "ring", TimeUS: us, Registered: "none", Evidence: results.EvidenceMeasured}
	}
	window := func(us float64) results.Baseline {
		return results.Baseline{Name: "AllGather_ST", TimeUS: us, Registered: "window", Evidence: results.EvidencePredicted}
	}
	nothing := results.Baseline{Name: "AllGather_RailRing_LsaSTMC", Registered: "window", Evidence: results.EvidenceUnknown}
	for _, tc := range []struct {
		called results.Baseline
		others []results.Baseline
		want   string
		leave  bool
	}{
		{none(20), nil, "faster", false},
		{none(20), []results.Baseline{window(15)}, "faster (predicted)", false},
		{none(20), []results.Baseline{window(25)}, "faster", false},
		{none(20), []results.Baseline{window(5)}, "faster (unregistered)", true},
		{none(20), []results.Baseline{nothing}, "faster (unregistered)", false},
		{none(5), []results.Baseline{nothing}, "slower", true},
		{none(10), []results.Baseline{window(5)}, "slower (predicted)", true},
		{none(10), []results.Baseline{window(10.5)}, "unsure", false},
		{window(20), nil, "faster (predicted)", false},
		{window(20), []results.Baseline{none(5)}, "faster (window, predicted)", true},
		{nothing, nil, "unknown", false},
	} {
		r := Row{Algorithm: "ring", Source: "template", Collective: "allreduce", Bytes: 1024, TimeUS: 10}
		r.standAt(results.Point{Baseline: &tc.called, Others: tc.others}, nil)
		r.addBands(nvlink())
		if got := r.Verdict(); got != tc.want || r.LeaveToLibrary != tc.leave {
			t.Errorf("%v beside %v: %q, left %t, want %q, %t", tc.called, tc.others, got, r.LeaveToLibrary, tc.want, tc.leave)
		}
	}
	// Where nothing says what the best takes, the table prints what the library takes as called.
	plain := none(20)
	simulated := Table{model: nvlink(), Rows: []Row{{Algorithm: "ring", Collective: "allreduce", Protocol: "LL", Bytes: 1024, TimeUS: 10}}}
	one := &simulated.Rows[0]
	one.standAt(results.Point{Baseline: &plain, Others: []results.Baseline{nothing}}, nil)
	one.addBands(simulated.model)
	if c := one.Compared(); c.Baseline != "ring, as called" || c.TimeUS == nil || *c.TimeUS != 20 || *c.Speedup != 2 || c.SpeedupBand == nil || c.SpeedupBand[0] <= 1 || one.Speedup != nil {
		t.Errorf("beside an unknown best: %+v", c)
	}
	if simulated.addNotes(); !slices.ContainsFunc(simulated.Notes, func(note string) bool { return strings.HasPrefix(note, "faster (unregistered): at 1 of 1 row ") }) {
		t.Errorf("notes %q", simulated.Notes)
	}
	// An older journal says nothing of states: its model's library is not registered.
	old := results.Baseline{Name: "ring", TimeUS: 40, Data: results.NoData}
	r := Row{Algorithm: "ring", Source: "template", Collective: "allreduce", Bytes: 1024, TimeUS: 10}
	r.standAt(results.Point{Baseline: &old}, nil)
	if r.addBands(nvlink()); r.Verdict() != "faster (unregistered)" || r.SpeedupVerdictBest != nil || !r.Wins() || r.BaselineRelease != nil || *r.BaselineRegistered != "none" || *r.BaselineEvidence != "fitted" {
		t.Errorf("older: %q, best %v, release %v", r.Verdict(), r.SpeedupVerdictBest, r.BaselineRelease)
	}
	// Beside programs that need windows themselves, no copies count, and so windows may be the best.
	b := Table{Rows: []Row{{Algorithm: "ring", TimeUS: 10}}}
	copied, called := window(15), none(14)
	copied.CopiesUS = 7
	b.Rows[0].standAt(results.Point{Baseline: &called, Others: []results.Baseline{copied}}, nil)
	if *b.Rows[0].BaselineTimeUS != 14 || b.Rows[0].LeaveToLibrary {
		t.Errorf("with copies: %v", *b.Rows[0].BaselineTimeUS)
	}
	if b.WithoutCopies(); *b.Rows[0].BaselineTimeUS != 8 || *b.Rows[0].BaselineRegistered != "window" || b.Rows[0].BaselineCopiesUS != nil || !b.Rows[0].LeaveToLibrary {
		t.Errorf("without copies: %v, copies %v", *b.Rows[0].BaselineTimeUS, b.Rows[0].BaselineCopiesUS)
	}
	// Measured times have no interval: they are told apart by their repetitions.
	r = Row{TimeUS: 10, Repeats: &Repeats{BaselineApart: new(bool)}}
	called = none(20)
	r.standAt(results.Point{Baseline: &called, Others: []results.Baseline{window(15)}}, nil)
	if r.addBands((*intervals.Model)(nil)); r.Verdict() != "unsure" || *r.SpeedupVerdictBest != Surely || r.Wins() {
		t.Errorf("measured: %q, best %s", r.Verdict(), *r.SpeedupVerdictBest)
	}
}
