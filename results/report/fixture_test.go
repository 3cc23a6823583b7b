package report

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies/topotest"
)

// ringTopology is what the campaigns of the tests search.
const ringTopology = "ring:4@50GB/s"

// testPlan is an allreduce over a ring of four ranks.
func testPlan(t testing.TB, placement string, sizes ...int64) results.Plan {
	t.Helper()
	top := topotest.Resolve(t, ringTopology, 0)
	return results.Plan{
		Version:  "0.1.0",
		Topology: results.Topology{Name: "ring:4", Nodes: 1, Ranks: 4, Hash: top.Hash(), Text: ringTopology},
		Call:     collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Placement: placement,
		Sizes: sizes, Iters: 20, Warmup: 5, Seed: 1, Executor: "sim",
	}
}

var simulated = results.Executor{Name: "sim", Version: "2", Deterministic: true, Fingerprint: map[string]string{"model": "2"}}

// testRing is a ring allreduce; scratch tells programs apart.
func testRing(ranks, scratch int, inPlace bool) *ir.Program {
	return irtest.Ring(ranks, 1, scratch, inPlace)
}

// newCampaign makes a campaign that an executor is named in.
func newCampaign(t testing.TB, dir string, plan results.Plan, e results.Executor) *results.Campaign {
	t.Helper()
	c, err := results.Create(dir, plan)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetExecutor(e); err != nil {
		t.Fatal(err)
	}
	return c
}

// dataOf is what an executor does with data: the simulator has none.
func dataOf(e results.Executor) results.Data {
	if e.Name == simulated.Name {
		return results.NoData
	}
	return results.Checked
}

// newTrial is a trial that came to a result, of a program that the campaign keeps.
func newTrial(t testing.TB, c *results.Campaign, p *ir.Program, algorithm, protocol string, tile, bytes int64, us ...float64) results.Trial {
	t.Helper()
	hash := p.Hash()
	if err := c.SaveProgram(hash, p); err != nil {
		t.Fatal(err)
	}
	e, _ := c.Executor()
	placement := "out"
	if p.Collective.InPlace {
		placement = "in"
	}
	return resultstest.Keyed(c, results.Trial{
		Bytes: bytes, Placement: placement, Algorithm: algorithm, Source: "template",
		Parameters: map[string]any{"pieces": p.GPUs[0].Scratch}, Channels: p.Channels(), Instances: 1,
		Protocol: protocol, TileBytes: tile, Program: hash, LoopChunks: p.Ranks(), MaxCount: 1, Granularity: int64(4 * p.Ranks()),
		Threadblocks: p.MaxThreadblocks(), Steps: p.MaxSteps(), Fingerprint: e.Hash(),
		Outcome: results.OK, TimesUS: us, Data: dataOf(e), Seconds: 0.25,
	})
}

// nativeTrial is one of a native algorithm.
func nativeTrial(c *results.Campaign, algorithm, protocol, placement string, bytes int64, us ...float64) results.Trial {
	e, _ := c.Executor()
	hash := results.NativeHash(algorithm, nil, collective.Spec{Name: "allreduce", Ranks: 4, InPlace: placement == "in"})
	return resultstest.Keyed(c, results.Trial{
		Bytes: bytes, Placement: placement, Algorithm: algorithm, Source: results.SourceNative, Instances: 1,
		Protocol: protocol, Program: hash, LoopChunks: 1, MaxCount: 1, Granularity: 4, Fingerprint: e.Hash(),
		Outcome: results.OK, TimesUS: us, Data: dataOf(e), Seconds: 0.5,
	})
}

func setTally(t testing.TB, c *results.Campaign, tally results.Tally) {
	t.Helper()
	if err := c.SetTally(tally); err != nil {
		t.Fatal(err)
	}
}

// pageOf is the page of a campaign, and the table it is of.
func pageOf(t testing.TB, c *results.Campaign) (string, *table.Table) {
	t.Helper()
	winners, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, c, winners, nil); err != nil {
		t.Fatal(err)
	}
	return b.String(), winners
}

// shownCampaign has a winner that changes, a baseline, a bound, and trials that
// went wrong in each way.
func shownCampaign(t testing.TB, dir string) *results.Campaign {
	t.Helper()
	c := newCampaign(t, dir, testPlan(t, "in", 1024, 4096, 16384), simulated)
	one, two := testRing(4, 0, true), testRing(4, 1, true)
	tally := results.Tally{Finished: true, Enumerated: 12, Refused: map[string]int{"threadblocks": 5, "duplicate": 1}, BoundedOut: 4, Tuned: 2}
	for i, n := range []int64{1024, 4096, 16384} {
		a := newTrial(t, c, one, "ring", "LL", 32768, n, 10+float64(i))
		b := newTrial(t, c, two, "tree", "Simple", 2<<20, n, 12-float64(i))
		base := newTrial(t, c, testRing(4, 2, true), "ring", "LL", 32768, n, 20)
		base.Reference = true
		bad := newTrial(t, c, two, "tree", "LL128", 576000, n)
		bad.Outcome, bad.Note = []results.Outcome{results.Wrong, results.Crashed, results.Crashed}[i], "rank 2 has <b>other</b> data"
		if bad.Outcome == results.Wrong {
			bad.TimesUS = []float64{5}
		}
		resultstest.Append(t, c, a, b, base, bad)
		tally.Points = append(tally.Points, results.Point{Bytes: n, Placement: "in", BoundUS: 5 + float64(i),
			Baseline: &results.Baseline{Name: "ring ×1 LL", Program: base.Program, Protocol: "LL", TileBytes: 32768}})
	}
	setTally(t, c, tally)
	return c
}

func hashOf(i int) string { return fmt.Sprintf("%064x", i) }
