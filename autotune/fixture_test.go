package autotune

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies"
)

const testRanks = 4

// testTopology has the runtimes' own tiles, and a small and a large one beside.
func testTopology() *topologies.Topology { return sharedTopology().Clone() }

var sharedTopology = sync.OnceValue(func() *topologies.Topology {
	t, err := topologies.Resolve(fmt.Sprintf("ring:%d", testRanks), topologies.Options{})
	if err != nil {
		panic(err)
	}
	for proto, p := range map[topologies.Proto]topologies.Protocol{
		topologies.LL:     {Slots: 8, Tile: 32768, Tiles: []units.Bytes{8192, 32768, 131072}},
		topologies.LL128:  {Slots: 8, Tile: 576000, Tiles: []units.Bytes{576000}},
		topologies.Simple: {Slots: 2, Tile: 2 << 20, Tiles: []units.Bytes{65536, 2 << 20}},
	} {
		of := &t.Protocols[proto]
		of.Slots, of.Tile, of.Tiles = p.Slots, p.Tile, p.Tiles
	}
	return t
})

// ring is a ring allreduce with instances; mark tells programs apart.
func ring(instances, mark int, inPlace bool) *ir.Program {
	return irtest.Ring(testRanks, instances, mark, inPlace)
}

// field is a landscape of times: a bound that falls with instances and rises
// with bytes, and a time above it by a factor that only a trial tells.
type field struct{ seed int64 }

func (f field) bound(instances int, bytes int64, proto topologies.Proto, tile int64) float64 {
	start := []float64{5, 8, 14}[proto]
	rate := []float64{20, 60, 100}[proto]
	return start + float64(instances)/2 + float64(bytes)/1e3/rate/float64(instances) + 1e4/float64(tile)
}

// factor is at least 1, and exactly 1 now and then.
func (f field) factor(hash string, bytes int64, proto topologies.Proto, tile int64) float64 {
	h := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %d %d", f.seed, hash, bytes, proto, tile))
	x := float64(binary.LittleEndian.Uint32(h[:])) / math.MaxUint32
	return 1 + math.Floor(x*8)/8
}

func (f field) time(t executor.Trial) float64 {
	bytes, tile := t.Bytes, t.TileBytes
	// Tiles that run alike take alike: the small one stands for both.
	chunk := export.ChunkBytes(bytes, 4, t.Program.Collective.Chunks)
	for _, other := range testTopology().Protocols[t.Protocol].Tiles {
		if export.SameTile(chunk, 1, tile, int64(other)) {
			tile = min(tile, int64(other))
		}
	}
	return f.bound(t.Program.Channels(), bytes, t.Protocol, tile) * f.factor(t.Program.Hash(), bytes, t.Protocol, tile)
}

// candidates is a set of rings with distinct programs.
func (f field) candidates(n int, inPlace, bounded bool) []Candidate {
	var all []Candidate
	for i := range n {
		instances := []int{1, 2, 3, 4, 8, 24}[i%6]
		p := ring(instances, i, inPlace)
		c := Candidate{
			Algorithm: "ring", Source: "template", Parameters: map[string]any{"mark": i},
			Channels: 1, Instances: instances, Program: p, Hash: p.Hash(), SlotsNeeded: 1,
		}
		if bounded {
			c.Bound = func(bytes int64, proto topologies.Proto, tile int64) float64 {
				// A bound for one tile must hold for the ones that run alike.
				return f.bound(instances, bytes, proto, max(tile, 1<<30))
			}
		}
		all = append(all, c)
	}
	return all
}

// fake is an executor that asks a function.
type fake struct {
	description executor.Description
	run         func(context.Context, executor.Trial) (executor.Measurement, error)
	mu          sync.Mutex
	calls       map[string]int // by trial
	closed      int
}

func newFake(run func(context.Context, executor.Trial) (executor.Measurement, error)) *fake {
	return &fake{
		description: executor.Description{Name: "fake", Version: "1", Deterministic: true, Fingerprint: map[string]string{"model": "1"}},
		run:         run, calls: map[string]int{},
	}
}

// fakeOf measures a field.
func fakeOf(f field) *fake {
	return newFake(func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{TimesUS: []float64{f.time(t)}}, nil
	})
}

func (e *fake) Describe(context.Context) (executor.Description, error) { return e.description, nil }

func (e *fake) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	e.mu.Lock()
	e.calls[fmt.Sprintf("%s %d %s %d", t.Program.Hash(), t.Bytes, t.Protocol, t.TileBytes)]++
	e.mu.Unlock()
	return e.run(ctx, t)
}

func (e *fake) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed++
	return nil
}

func (e *fake) total() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, c := range e.calls {
		n += c
	}
	return n
}

var testCall = collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}

var testSizes = []int64{1 << 10, 1 << 16, 1 << 20, 1 << 26}

func testProblem() Problem {
	return Problem{Topology: testTopology(), TopologyHash: fmt.Sprintf("%064x", 7), Call: testCall, Sizes: testSizes, Iters: 20, Warmup: 5, Seed: 1}
}

func testPlan(placement string) results.Plan {
	return results.Plan{
		Version: "0.1.0", Topology: results.Topology{Name: "test", Nodes: 1, Ranks: testRanks, Hash: fmt.Sprintf("%064x", 7)},
		Call: testCall, Placement: placement, Sizes: testSizes, Iters: 20, Warmup: 5, Seed: 1, Executor: "fake",
	}
}

func newCampaign(t testing.TB, placement string) *results.Campaign {
	t.Helper()
	return campaignOf(t, testPlan(placement))
}

func campaignOf(t testing.TB, p results.Plan) *results.Campaign {
	t.Helper()
	c, err := results.Create(t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// optionsFor runs everything on one fake, which several jobs share.
func optionsFor(c *results.Campaign, e executor.Executor, jobs int) Options {
	return Options{Executors: executor.NewPool(func() (executor.Executor, error) { return e, nil }), Jobs: jobs, Campaign: c}
}

// tuned runs to the end and gives the table's rows and ranges, as JSON.
func tuned(t testing.TB, c *results.Campaign, candidates []Candidate, o Options) (string, Summary) {
	t.Helper()
	summary, err := Run(context.Background(), testProblem(), candidates, o)
	if err != nil {
		t.Fatal(err)
	}
	tally := results.Tally{Finished: true, Enumerated: len(candidates), BoundedOut: summary.BoundedOut, Tuned: summary.Tuned}
	if err := c.SetTally(tally); err != nil {
		t.Fatal(err)
	}
	return tableOf(t, c, false), summary
}

// tableOf is a campaign's table as JSON, and that of each number of SMs of which the winner is found,
// their seconds left out; and without what pruning may change, where answer is set.
func tableOf(t testing.TB, c *results.Campaign, answer bool) string {
	t.Helper()
	var b bytes.Buffer
	for _, sms := range append([]int{0}, table.Caps...) {
		winners, err := table.BuildWithin(c, sms)
		if err != nil {
			t.Fatal(err)
		}
		winners.Campaign.Seconds = 0
		if answer {
			winners.Campaign, winners.Candidates = table.Spent{}, table.Candidates{}
		}
		if err := winners.Write(&b, "json", table.Look{}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// exportsOf is what every runtime would be given; of calls out of place none that
// verifies its files again, because the test's rings are wrong there.
func exportsOf(t testing.TB, c *results.Campaign) string {
	t.Helper()
	var b bytes.Buffer
	for _, runtime := range export.Runtimes() {
		o := runtime.Export
		if o.To != "msccl-xml" && c.Plan().Placement != "in" {
			continue
		}
		o.Out = t.TempDir()
		report, err := export.Write(c, o)
		if errors.Is(err, export.ErrNothingFits) {
			fmt.Fprintf(&b, "%s: nothing\n", runtime.Name)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		report.Load = nil
		b.WriteString(strings.ReplaceAll(fmt.Sprintf("%s: %+v\n", runtime.Name, report), o.Out, "out"))
	}
	return b.String()
}
