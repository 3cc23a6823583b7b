package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// TestMain lets the test binary be the solvers' worker.
func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}

// problem is a search as a test writes it.
type problem struct {
	topology   string
	nodes      int
	collective string
	sizes      []int64
}

func (p problem) String() string {
	return fmt.Sprintf("%s on %d × %s", p.collective, p.nodes, p.topology)
}

func (p problem) resolve(t testing.TB) (Problem, Source) {
	t.Helper()
	s := Source{Text: p.topology, Nodes: p.nodes}
	if text, ok := topologies.Source(p.topology); ok {
		s.Text = string(text)
	}
	topology, err := s.Read(p.topology)
	if err != nil {
		t.Fatal(err)
	}
	return Problem{
		Topology: topology, Call: collective.Call{Collective: p.collective, Op: "sum", DType: "f32"},
		InPlace: collective.DefaultInPlace(p.collective), Sizes: p.sizes,
	}, s
}

// searched runs a search on the simulator, in this process.
func searched(t *testing.T, p problem, o Options) (*table.Table, *results.Campaign) {
	t.Helper()
	problem, source := p.resolve(t)
	return searchedFor(t, problem, source, o)
}

// searchedFor runs a search of a problem on the simulator, in this process.
func searchedFor(t *testing.T, p Problem, source Source, o Options) (*table.Table, *results.Campaign) {
	t.Helper()
	o.Executor = "sim"
	plan := PlanOf(p, o, source, Settings{Version: "test", Iters: 20, Warmup: 5, Seed: 1, ExecutorName: "sim"})
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_, err = Run(context.Background(), p, o, c, Effort{
		Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 2,
	})
	if err != nil {
		t.Fatalf("%s on %s: %v", p.Collective, p.Topology.Name, err)
	}
	table, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	return table, c
}

// fastestOf is the least time that was tried at each size.
func fastestOf(c *results.Campaign) map[int64]float64 {
	least := map[int64]float64{}
	for at, ms := range table.Measurements(c.Trials()) {
		if i := slices.IndexFunc(ms, table.Measured.Competes); i >= 0 {
			least[at.Bytes] = ms[i].TimeUS
		}
	}
	return least
}

// TestPlanIsTheSearch: a campaign's plan holds all of a search but how long it
// may take.
func TestPlanIsTheSearch(t *testing.T) {
	p, source := problem{"dgx-a100", 2, "broadcast", []int64{1 << 10, 1 << 12}}.resolve(t)
	source.GPUs = []int{0, 2, 5}
	var err error
	if p.Topology, err = source.Read("dgx-a100"); err != nil {
		t.Fatal(err)
	}
	p.Root, p.Op, p.DType = 3, "max", "bf16"
	o := Options{
		Families: []string{"ring", "chain"}, Exclude: []string{"direct"},
		Templates:  []Template{{"mine.star", "family(name = \"mine\", collectives = [\"broadcast\"])\n"}},
		Parameters: map[string]string{"channels": "2", "order": "0,1,2;2,1,0"},
		Channels:   2, Instances: 4, MaxSMs: 48, Protocols: []topologies.Proto{topologies.LL128},
		TileBytes: 1 << 16, Runtime: "rccl", Executor: "sim", Solver: "pb",
	}
	gotP, gotO, err := FromPlan(PlanOf(p, o, source, Settings{ExecutorName: "sim"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, gotO, cmpopts.IgnoreFields(Options{}, "Jobs", "Observer")); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if gotP.Topology.Hash() != p.Topology.Hash() {
		t.Error("the topology is another one")
	}
	gotP.Topology, p.Topology = nil, nil
	if diff := cmp.Diff(p, gotP); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
}

// TestEveryCandidateEndsOnce: what was enumerated is what was refused, bounded
// out or tuned, and every refusal is told.
func TestEveryCandidateEndsOnce(t *testing.T) {
	for _, c := range []struct {
		problem
		families []string
	}{
		{problem{"dgx-1", 1, "allgather", []int64{1 << 12, 1 << 24}}, nil},
		{problem{"ring:4@50GB/s", 1, "allgather", []int64{1 << 12}}, nil},
		{problem{"dgx-a100", 1, "allreduce", []int64{1 << 12}}, []string{"recursive-halving-doubling"}},
	} {
		p := c.problem
		told := map[string]int{}
		table, _ := searched(t, p, Options{Families: c.families, Observer: program.Observer{Refused: func(r program.Refusal) { told[string(r.Reason)]++ }}})
		c := table.Candidates
		refused := 0
		for _, n := range c.Refused {
			refused += n
		}
		if c.Enumerated != refused+c.BoundedOut+c.Tuned || c.Tuned == 0 {
			t.Errorf("%s: %d enumerated, but %d refused, %d bounded out, %d tuned", p, c.Enumerated, refused, c.BoundedOut, c.Tuned)
		}
		if diff := cmp.Diff(c.Refused, told); diff != "" {
			t.Errorf("%s: refusals counted and told differ (-counted +told):\n%s", p, diff)
		}
	}
}

// TestWinnersUseLinksThatExist: on a hybrid cube mesh half of the pairs of GPUs
// have no link; no winner sends between them.
func TestWinnersUseLinksThatExist(t *testing.T) {
	p := problem{"dgx-1", 1, "allreduce", []int64{1 << 12, 1 << 28}}
	table, c := searched(t, p, Options{Instances: 1, Exclude: []string{"multi-level"}})
	resolved, _ := p.resolve(t)
	direct := map[[2]int]bool{}
	for _, e := range resolved.Topology.Edges {
		direct[[2]int{e.From, e.To}] = true
	}
	if direct[[2]int{0, 7}] || !direct[[2]int{0, 4}] {
		t.Fatal("dgx-1 is not the hybrid cube mesh this test is about")
	}
	for _, row := range table.Rows {
		program, err := c.Program(row.IR)
		if err != nil {
			t.Fatal(err)
		}
		for rank, gpu := range program.GPUs {
			for _, tb := range gpu.Threadblocks {
				if tb.Send >= 0 && !direct[[2]int{rank, tb.Send}] {
					t.Errorf("%d bytes: %s sends from rank %d to rank %d", row.Bytes, row.Algorithm, rank, tb.Send)
				}
			}
		}
	}
}

// TestWinnersLieBetweenBoundAndBaseline, with no flag to narrow the search: the library as called
// is a program that can win.
func TestWinnersLieBetweenBoundAndBaseline(t *testing.T) {
	for _, p := range []problem{
		{"dgx-a100", 1, "allreduce", []int64{1 << 10, 1 << 24}},
		{"dgx-a100", 2, "alltoall", []int64{1 << 14, 1 << 24}},
		{"dgx-a100", 2, "alltonext", []int64{1 << 10, 1 << 24}},
		{"mi300x", 1, "allgather", []int64{1 << 12, 1 << 24}},
	} {
		o := Options{Registered: new(nccl.None)}
		if p.topology == "mi300x" { // later ones run kernels there whose time nothing says
			o.Release, _ = library.FindRelease("rccl-2.21", "rccl")
		}
		table, _ := searched(t, p, o)
		if len(table.Rows) != len(p.sizes) {
			t.Errorf("%s: %d rows for %d sizes", p, len(table.Rows), len(p.sizes))
		}
		for _, r := range table.Rows {
			switch {
			case r.BaselineTimeUS == nil || r.BoundUS == nil:
				t.Errorf("%s: %d bytes: no baseline or no bound", p, r.Bytes)
			case r.TimeUS > *r.BaselineTimeUS:
				t.Errorf("%s: %d bytes: the winner takes %v us, the baseline %v", p, r.Bytes, r.TimeUS, *r.BaselineTimeUS)
			case r.TimeUS < *r.BoundUS:
				t.Errorf("%s: %d bytes: the winner takes %v us, below the bound of %v", p, r.Bytes, r.TimeUS, *r.BoundUS)
			}
		}
	}
}

// TestNarrowedSearchKeepsTheBaselineOut: asked for one family, no other wins,
// however fast the vendor's choice is; it is still what is compared with.
func TestNarrowedSearchKeepsTheBaselineOut(t *testing.T) {
	p := problem{"dgx-a100", 1, "allreduce", []int64{1 << 10, 1 << 22}}
	for _, o := range []Options{
		{Families: []string{"recursive-halving-doubling"}},
		{Protocols: []topologies.Proto{topologies.LL}, Instances: 2},
		{TileBytes: 64 << 10, Instances: 2},
	} {
		table, _ := searched(t, p, o)
		for _, r := range table.Rows {
			if r.BaselineTimeUS == nil {
				t.Errorf("%+v: %d bytes: no baseline", o, r.Bytes)
			}
			if len(o.Families) > 0 && r.Algorithm != o.Families[0] ||
				len(o.Protocols) > 0 && r.Protocol != "LL" || o.TileBytes > 0 && r.TileBytes != o.TileBytes {
				t.Errorf("%+v: %d bytes: won by %s %s tile %d", o, r.Bytes, r.Algorithm, r.Protocol, r.TileBytes)
			}
		}
	}
}

// TestFamiliesCompareAsGC3Found is section 7 of the paper on this simulator.
func TestFamiliesCompareAsGC3Found(t *testing.T) {
	const small, large = 0, 1
	for _, c := range []struct {
		problem
		family, other string
		ahead         [2]bool // at the small size, at the large one
		factor        float64 // by how much at the large size; 0: at all
	}{
		{problem{"dgx-a100", 1, "allreduce", []int64{4 << 10, 1 << 30}}, "all-pairs", "ring", [2]bool{true, false}, 0},
		{problem{"dgx-a100", 2, "allreduce", []int64{1 << 18, 1 << 28}}, "hierarchical", "ring", [2]bool{true, true}, 0},
		{problem{"dgx-a100", 4, "alltoall", []int64{64 << 10, 1 << 26}}, "two-step", "direct", [2]bool{true, false}, 0},
		{problem{"dgx-a100", 3, "alltonext", []int64{1 << 10, 1 << 27}}, "multi-nic", "direct", [2]bool{false, true}, 3},
	} {
		times := func(family string) []float64 {
			_, campaign := searched(t, c.problem, Options{Families: []string{family}})
			var us []float64 // a smaller program may win by being about as fast
			for _, bytes := range c.sizes {
				us = append(us, fastestOf(campaign)[bytes])
			}
			return us
		}
		a, b := times(c.family), times(c.other)
		for at := range []int{small, large} {
			if ahead := a[at] < b[at]; ahead != c.ahead[at] {
				t.Errorf("%s, %d bytes: %s takes %.1f us, %s %.1f; want it ahead: %v", c.problem, c.sizes[at], c.family, a[at], c.other, b[at], c.ahead[at])
			}
		}
		if b[large] < c.factor*a[large] {
			t.Errorf("%s, %d bytes: %s is %.1f times ahead of %s, want %.1f", c.problem, c.sizes[large], c.family, b[large]/a[large], c.other, c.factor)
		}
	}
}

// TestRingIsNearTheBound: spread over many threadblocks, at a large size. Packets
// leave four fifths of an NVLink to data, of which the bound knows nothing.
func TestRingIsNearTheBound(t *testing.T) {
	table, _ := searched(t, problem{"dgx-a100", 1, "allreduce", []int64{1 << 30}}, Options{Families: []string{"ring"}})
	if ratio := table.Rows[0].BoundRatio; ratio == nil || *ratio < 0.72 {
		t.Errorf("a ring at 1 GiB takes %v us, bound %v: want 0.72 of the bound", table.Rows[0].TimeUS, table.Rows[0].BoundUS)
	}
}

// TestRuntimeRunsWhatWins: asked for what a runtime would run, no winner has
// another tile than its own, or chunks that do not divide the size.
func TestRuntimeRunsWhatWins(t *testing.T) {
	p := problem{"mi300x", 1, "allgather", []int64{1 << 12, 1 << 24}}
	table, c := searched(t, p, Options{Runtime: "rccl"})
	for _, r := range table.Rows {
		program, err := c.Program(r.IR)
		if err != nil {
			t.Fatal(err)
		}
		runtime, err := export.RuntimeNamed("rccl")
		if err != nil {
			t.Fatal(err)
		}
		if r.Bytes%msccl.Granularity(program, 4) != 0 || r.TileBytes != tileOf(runtime, r.Protocol) {
			t.Errorf("%d bytes: rccl would not run %s %s tile %d", r.Bytes, r.Algorithm, r.Protocol, r.TileBytes)
		}
	}
}

// TestSynthesisedRoutingsWin where no family does as well: an alltoall over a
// hybrid cube mesh at large sizes, and asked for by name.
func TestSynthesisedRoutingsWin(t *testing.T) {
	table, c := searched(t, problem{"dgx-1", 1, "alltoall", []int64{1 << 28}}, Options{})
	r := table.Rows[0]
	if r.Algorithm != "synthesised" || r.Source != "synthesised" {
		t.Fatalf("won by %s, of source %s", r.Algorithm, r.Source)
	}
	if _, err := c.Program(r.IR); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"tree-packing", "synthesised", "greedy"} {
		table, _ := searched(t, problem{"fullmesh:8", 1, "allgather", []int64{1 << 20}}, Options{Families: []string{name}})
		if got := table.Rows[0].Algorithm; got != name {
			t.Errorf("asked for %s, %s won", name, got)
		}
	}
}

// TestGreedyScheduleWins at the least size of a system that is all links, and at
// the largest of one whose rings nobody finds, there with what arrives and goes
// on in threadblocks apart: a rank has not enough for all pairs of its links.
// Its IR says how it was found.
func TestGreedyScheduleWins(t *testing.T) {
	for _, c := range []struct {
		p     problem
		apart bool
	}{
		{problem{"mi250", 1, "allgather", []int64{4096}}, false},
		{problem{"mesh:5x5", 1, "allgather", []int64{1 << 28}}, true},
	} {
		table, campaign := searched(t, c.p, Options{})
		r := table.Rows[0]
		_, apart := r.Parameters["fused"]
		if r.Algorithm != "greedy" || r.Source != "synthesised" || apart != c.apart {
			t.Errorf("%s at %d bytes: won by %s %v, of source %s", c.p, r.Bytes, r.Algorithm, r.Parameters, r.Source)
			continue
		}
		program, err := campaign.Program(r.IR)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(program.Comment, "synthesised by=none chunks=") || !strings.Contains(program.Comment, "% over the bound") {
			t.Errorf("%s: made by %q: want how it was found", c.p, program.Comment)
		}
	}
}

// ringOfMine is a user's family, several of whose routings are one program.
const ringOfMine = `
family(name = "mine", collectives = ["allgather"], parameters = {"by": choice(1, 2, 3, 5), "channels": choice(1, 2)})

def applies(topo, p):
    return p.by < topo.ranks // 2 or "too far"

def program(topo, p):
    R = topo.ranks
    for r in range(R):
        own = chunk(r, "in", 0).copy(r, "out", r)
        at = own
        for k in range(1, R):
            at = at.copy((r + k) % R, "out", r, ch = r % p.channels)
`

// TestJobsChangeNothing: the candidates come in one order, whoever traced and built
// them, and so do the refusals, as they are told, and what is counted of them.
func TestJobsChangeNothing(t *testing.T) {
	mine := Template{Name: "mine.star", Text: ringOfMine}
	for _, c := range []struct {
		problem
		o Options
	}{
		{problem{"dgx-1", 1, "allgather", []int64{1 << 20}}, Options{}},
		{problem{"dgx-a100", 2, "reducescatter", []int64{1 << 10, 1 << 30}}, Options{Instances: 1, Channels: 1}},
		{problem{"fullmesh:8", 1, "allgather", []int64{1 << 20}}, Options{Templates: []Template{mine}, Exclude: []string{"synthesised"}}},
	} {
		p, _ := c.problem.resolve(t)
		var first []string
		for _, jobs := range []int{1, 7} {
			o := c.o
			var told []string
			o.Executor, o.Jobs, o.Observer.Refused = "sim", jobs, func(r program.Refusal) { told = append(told, r.String()) }
			s, err := Enumerate(context.Background(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{fmt.Sprint(s.Enumerated())}
			for _, c := range s.Candidates {
				got = append(got, c.Algorithm+" "+c.Hash)
			}
			for _, r := range s.Refusals {
				got = append(got, r.String())
			}
			got = append(got, told...)
			if first == nil {
				first = got
			} else if diff := cmp.Diff(first, got); diff != "" {
				t.Errorf("%s: %d jobs (-1 job +this):\n%s", c.problem.topology, jobs, diff)
			}
		}
	}
}

// TestJobsChangeNoChoice: of a large system the same drafts are left.
func TestJobsChangeNoChoice(t *testing.T) {
	var first []string
	for _, jobs := range []int{1, 3} {
		eachOn(t, problem{"dgx-a100", 2, "allreduce", []int64{1 << 10, 1 << 20, 1 << 30}}, Options{Jobs: jobs}, func(p *placement) {
			all, err := p.drafts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			short, err := p.shortlist(t.Context(), all.Drafts, 1<<16, 1<<15)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range short.Drafts {
				got = append(got, d.String())
			}
			for _, r := range slices.Concat(all.Refusals, short.Refusals) {
				got = append(got, r.String())
			}
			switch {
			case len(short.Drafts) == 0 || len(short.Drafts) == len(all.Drafts):
				t.Fatalf("%d of %d drafts are left: want some", len(short.Drafts), len(all.Drafts))
			case first == nil:
				first = got
			default:
				if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("%d jobs (-1 job +this):\n%s", jobs, diff)
				}
			}
		})
	}
}

// TestRoutingBoundIsBelowEveryRun: what the links alone imply is no more than
// what the simulator says, for every candidate and protocol.
func TestRoutingBoundIsBelowEveryRun(t *testing.T) {
	for _, pr := range []problem{
		{"dgx-1", 1, "allgather", []int64{1 << 20}},
		{"l40s-4", 2, "alltoall", []int64{1 << 20}},
	} {
		p, _ := pr.resolve(t)
		s, err := Enumerate(context.Background(), p, Options{Executor: "sim", Instances: 2})
		if err != nil {
			t.Fatal(err)
		}
		onLinks, err := Enumerate(context.Background(), p, Options{Executor: "cpu", Capabilities: &Capabilities{}, Instances: 2})
		if err != nil || len(onLinks.Candidates) != len(s.Candidates) {
			t.Fatal(err, len(onLinks.Candidates))
		}
		for i, c := range s.Candidates {
			bound := onLinks.Candidates[i].Bound
			for _, proto := range topologies.AllProtocols {
				if c.SlotsNeeded > p.Topology.Protocols[proto].Slots {
					continue
				}
				for _, bytes := range []int64{1 << 12, 1 << 24} {
					run, err := sim.Run(c.Program, p.Topology, sim.Knobs{Bytes: bytes, Protocol: proto, ElemBytes: 4})
					if err != nil {
						t.Fatal(err)
					}
					tile := int64(p.Topology.Protocols[proto].Tile)
					low, high := bound(bytes, proto, tile), c.Bound(bytes, proto, tile)
					if low > run.TimeUS || high > run.TimeUS {
						t.Errorf("%s %s, %d bytes: %v us, bounds %v and %v", c.Algorithm, proto, bytes, run.TimeUS, low, high)
					}
				}
			}
		}
	}
}

// slow is an executor whose trials take longer than the budget of a search.
type slow struct{ executor.Executor }

func (s slow) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	time.Sleep(300 * time.Millisecond)
	return s.Executor.Run(ctx, t)
}

// TestEarlierCampaignsKeepTheirBaselines: one begun before baselines told of releases has the library
// on buffers that are not registered, also what it had of it before another release came, when it is
// resumed.
func TestEarlierCampaignsKeepTheirBaselines(t *testing.T) {
	p, source := problem{"dgx-b200", 1, "allgather", []int64{1 << 20, 4 << 20}}.resolve(t)
	o := Options{Executor: "sim", Families: []string{"ring"}, Instances: 1, Unregistered: true}
	plan := PlanOf(p, o, source, Settings{Version: "1", Iters: 20, Warmup: 5, Seed: 1, ExecutorName: "sim"})
	for _, f := range plan.Flags {
		if f.Name == "registered" || f.Name == "baseline" {
			t.Fatalf("flag %s of an earlier campaign", f.Name)
		}
	}
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), plan)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetTally(results.Tally{Points: []results.Point{{Bytes: 1 << 20, Placement: "out", Baseline: &results.Baseline{Name: "ring by an older model", TimeUS: 1000, Data: results.NoData}}}}); err != nil {
		t.Fatal(err)
	}
	again, asked, err := FromPlan(plan)
	if err != nil || !asked.Unregistered {
		t.Fatalf("%+v, %v", asked, err)
	}
	if _, err = Run(context.Background(), again, asked, c, Effort{Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 2}); err != nil {
		t.Fatal(err)
	}
	built, err := table.Build(c)
	if err != nil || len(built.Rows) != 2 {
		t.Fatal(built, err)
	}
	for i, r := range built.Rows {
		if i == 0 && *r.Baseline != "ring by an older model" || i == 1 && !strings.HasPrefix(*r.Baseline, "ring ×") || r.BaselineRelease != nil || *r.BaselineRegistered != "none" || *r.BaselineEvidence != "fitted" || r.SpeedupVerdictBest != nil || r.AsCalled != nil {
			t.Errorf("%d bytes: %s of %v, %s, best %v", r.Bytes, *r.Baseline, r.BaselineRelease, *r.BaselineRegistered, r.SpeedupVerdictBest)
		}
	}
}

// TestBudgetIsToldAsAsked: what ends a search is the budget that was asked for,
// not what enumerating its candidates has left of it.
func TestBudgetIsToldAsAsked(t *testing.T) {
	p, source := problem{"ring:4", 1, "allgather", []int64{1 << 10}}.resolve(t)
	o := Options{Executor: "sim", Families: []string{"ring"}}
	plan := PlanOf(p, o, source, Settings{Version: "test", Iters: 20, Warmup: 5, Seed: 1, ExecutorName: "sim"})
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), plan)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = Run(context.Background(), p, o, c, Effort{
		Executors: executor.NewPool(func() (executor.Executor, error) { return slow{sim.New()}, nil }), Jobs: 1, Budget: 250 * time.Millisecond,
	})
	var limit *autotune.LimitError
	if !errors.As(err, &limit) || limit.Limit != "budget" || limit.Value != "250ms" {
		t.Errorf("%v, want the budget of 250ms to be spent", err)
	}
}

// tileOf is the tile that a runtime uses with a protocol.
func tileOf(r export.Runtime, protocol string) int64 {
	tile, _ := r.Tile(protocol)
	return tile
}
