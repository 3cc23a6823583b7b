package resultstest

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
)

// Plan is a small plan: allreduce over four ranks.
func Plan(sizes ...int64) results.Plan {
	if len(sizes) == 0 {
		sizes = []int64{1024, 2048, 4096, 8192}
	}
	return results.Plan{
		Version:  "0.1.0",
		Topology: results.Topology{Name: "ring:4", Nodes: 1, Ranks: 4, Hash: fmt.Sprintf("%064x", 7), Text: "name = \"ring:4\"\n\n[node]\ngpus = 4\n"},
		Call:     collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Placement: "in",
		Sizes: sizes, Iters: 20, Warmup: 5, Seed: 1, Executor: "fake",
		Flags: []results.Flag{{Name: "family", Value: "ring,allpairs"}},
	}
}

// Executor is the executor that ran its trials.
var Executor = results.Executor{Name: "fake", Version: "1", Deterministic: true, Fingerprint: map[string]string{"model": "1"}}

// Create makes a campaign with an executor named.
func Create(t testing.TB, p results.Plan) *results.Campaign {
	t.Helper()
	c, err := CreateIn(t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// CreateIn makes a campaign in a folder, with an executor named and with trials under
// the keys that they have in it. The caller closes it.
func CreateIn(dir string, p results.Plan, trials ...results.Trial) (*results.Campaign, error) {
	c, err := results.Create(dir, p)
	if err != nil {
		return nil, err
	}
	if _, err = c.SetExecutor(Executor); err == nil {
		err = c.Append(keyed(c, trials)...)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Trial is an ok trial of a ring.
func Trial(t testing.TB, c *results.Campaign, p *ir.Program, name, protocol string, tile, bytes int64, us ...float64) results.Trial {
	t.Helper()
	hash := p.Hash()
	if err := c.SaveProgram(hash, p); err != nil {
		t.Fatal(err)
	}
	col, err := collective.New(p.Collective)
	if err != nil {
		t.Fatal(err)
	}
	placement := "out"
	if p.Collective.InPlace {
		placement = "in"
	}
	trial := results.Trial{
		Bytes: bytes, Placement: placement, Algorithm: name, Source: "template",
		Parameters: map[string]any{"scratch": p.GPUs[0].Scratch}, Channels: p.Channels(), Instances: p.Channels(),
		Protocol: protocol, TileBytes: tile, Program: hash, LoopChunks: col.LoopChunks(), MaxCount: 1, Granularity: int64(col.LoopChunks()) * 4,
		Threadblocks: p.MaxThreadblocks(), Steps: p.MaxSteps(), Fingerprint: Executor.Hash(),
		Outcome: results.OK, TimesUS: us, Data: results.Checked, Seconds: 0.25,
	}
	return Keyed(c, trial)
}

// Keyed is a trial under the key that it has in a campaign.
func Keyed(c *results.Campaign, t results.Trial) results.Trial {
	plan := c.Plan()
	t.Key = plan.Key(&t).Hash()
	return t
}

// Append journals trials under the keys that they have in the campaign.
func Append(t testing.TB, c *results.Campaign, trials ...results.Trial) {
	t.Helper()
	if err := c.Append(keyed(c, trials)...); err != nil {
		t.Fatal(err)
	}
}

func keyed(c *results.Campaign, trials []results.Trial) []results.Trial {
	for i := range trials {
		trials[i] = Keyed(c, trials[i])
	}
	return trials
}

// NativeTrial is an ok trial of a native algorithm.
func NativeTrial(algorithm, protocol string, settings map[string]string, channels int, bytes int64, us float64) results.Trial {
	spec := collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 1, InPlace: true}
	hash := results.NativeHash(algorithm, settings, spec)
	parameters := map[string]any{}
	for k, v := range settings {
		parameters[k] = v
	}
	return results.Trial{
		Bytes: bytes, Placement: "in", Algorithm: algorithm, Source: results.SourceNative, Parameters: parameters,
		Channels: channels, Instances: 1, Protocol: protocol, Program: hash, LoopChunks: 1, MaxCount: 1, Granularity: 4,
		Fingerprint: Executor.Hash(), Outcome: results.OK, TimesUS: []float64{us},
	}
}

// Library is a campaign whose winners are, by rising size, the library's choice,
// a program, a tree, and the same tree again.
func Library(t testing.TB) *results.Campaign {
	t.Helper()
	c := Create(t, Plan())
	channels := func(n string) map[string]string { return map[string]string{"channels": n} }
	Append(t, c,
		NativeTrial("auto", results.ProtocolAuto, nil, 0, 1024, 5), NativeTrial("ring", "LL", channels("8"), 8, 1024, 6), NativeTrial("ring", "LL", nil, 0, 1024, 5.5),
		Trial(t, c, irtest.Ring(4, 1, 0, true), "ring", "LL", 32768, 2048, 6), NativeTrial("ring", "LL", channels("8"), 8, 2048, 7),
		NativeTrial("nvlstree", "Simple", channels("16"), 16, 4096, 8), NativeTrial("ring", "LL", channels("8"), 8, 4096, 9),
		NativeTrial("nvlstree", "Simple", channels("16"), 16, 8192, 9), NativeTrial("nvlstree", "Simple", map[string]string{"channels": "16", "buffer": "1048576"}, 16, 8192, 8.9),
	)
	if err := c.SetTally(results.Tally{Finished: true, Enumerated: 5, Tuned: 5, Points: []results.Point{
		{Bytes: 1024, Placement: "in", BoundUS: 4}, {Bytes: 2048, Placement: "in", BoundUS: 5}, {Bytes: 4096, Placement: "in", BoundUS: 20},
	}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// LibraryTrial is an ok trial of an algorithm of the library's own, told apart by
// the length of its name.
func LibraryTrial(algorithm string, bytes int64, us float64) results.Trial {
	x := results.Trial{
		Algorithm: algorithm, Source: results.SourceNative, Bytes: bytes, Placement: "in", Protocol: "LL", Program: fmt.Sprintf("%064x", len(algorithm)),
		Fingerprint: Executor.Hash(), Outcome: results.OK, TimesUS: []float64{us}, LoopChunks: 1, MaxCount: 1, Granularity: 4,
	}
	return x
}
