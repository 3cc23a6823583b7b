package greedy

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/publishedtest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

var resolve = topotest.Resolve

// dgx1 is the catalogue's DGX-1 with other links.
func dgx1(t testing.TB, gibps float64, us float64) *topologies.Topology {
	top := resolve(t, "dgx-1", 1)
	for i := range top.Edges {
		e := &top.Edges[i]
		e.Bandwidth = units.Bandwidth(gibps * float64(int64(e.Count)<<30))
		e.Latency = units.Duration(us)
	}
	return top
}

// row is a system on which TACOS was measured.
type row struct {
	topology string
	bytes    int64
	us       float64 // TACOS's best schedule of those seen
	seconds  float64 // and its search
}

var rows = []row{
	{"ring:8@50GiB/s", 1 << 30, 10002, 0.0001},
	{"ring:16@50GiB/s", 1 << 30, 10004, 0.0004},
	{"ring:64@50GiB/s", 1 << 30, 10016, 0.023},
	{"ring:128@50GiB/s", 1 << 30, 10032, 0.16},
	{"ring:256@50GiB/s", 1 << 30, 10064, 2},
	{"fullmesh:8@50GiB/s", 1 << 30, 2500.5, 0.0001},
	{"fullmesh:64@50GiB/s", 1 << 30, 313, 0.008},
	{"fullmesh:128@50GiB/s", 1 << 30, 156.75, 0.058},
	{"fullmesh:256@50GiB/s", 1 << 30, 78.625, 0.9},
	{"mesh:4x4@50GiB/s", 1 << 30, 10004, 0.0004},
	{"mesh:5x5@50GiB/s", 1 << 30, 9606, 0.0013},
	{"mesh:8x8@50GiB/s", 1 << 30, 10016, 0.017},
	{"mesh:12x12@50GiB/s", 1 << 30, 10036, 0.19},
	{"mesh:16x16@50GiB/s", 1 << 30, 10064, 1.17},
	{"mesh:20x20@50GiB/s", 1 << 30, 10100, 7.4},
	{"mesh:22x23@50GiB/s", 1 << 30, 10126.5, 19.1},
	{"torus:4x4@50GiB/s", 1 << 30, 5002, 0.0004},
	{"torus:8x8@50GiB/s", 1 << 30, 5321, 0.009},
	{"torus:16x16@50GiB/s", 1 << 30, 5110.6, 1.03},
	{"torus:4x4x4@50GiB/s", 1 << 30, 3443, 0.007},
	{"torus:5x5x5@50GiB/s", 1 << 30, 3370.5, 0.053},
	{"torus:8x8x8@50GiB/s", 1 << 30, 3402.4, 8.76},
	{"hypercube:6@50GiB/s", 1 << 30, 3443, 0.007},
	{"hypercube:7@50GiB/s", 1 << 30, 2978.3, 0.059},
	{"dgx-1 23", 1 << 30, 8154, 0.0001},
}

func (r row) system(t testing.TB) *topologies.Topology {
	switch r.topology {
	case "dgx-1 23":
		return dgx1(t, 23, 0.7)
	case "dgx-1 25":
		return dgx1(t, 25, 0.7)
	case "NDv2 x2", "NDv2 x2, 1 MB", "NDv2 x2, 1 KB":
		return publishedtest.NDv2(2)
	}
	return resolve(t, r.topology, 1)
}

// TestNoWorseThanTACOS, on rows of up to 64 ranks: no schedule is longer than TACOS's.
func TestNoWorseThanTACOS(t *testing.T) {
	for _, r := range rows {
		top := r.system(t)
		if len(top.Ranks) > 64 {
			continue
		}
		if s := route(t, top, Options{Bytes: r.bytes}); s.TimeUS > r.us*1.0001 {
			t.Errorf("%s: %.2f us, TACOS takes %.2f", r.topology, s.TimeUS, r.us)
		}
	}
}

func route(t testing.TB, top *topologies.Topology, o Options) *Schedule {
	t.Helper()
	s, err := Route(context.Background(), top, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(top); err != nil {
		t.Fatalf("%s on %s: %v", s.Method, top.Name, err)
	}
	if s.Gap() < -1e-9 {
		t.Fatalf("%s on %s takes %v us: the bound is %v", s.Collective, top.Name, s.TimeUS, s.BoundUS)
	}
	return s
}

// TestCollectives schedules all three collectives on systems of every kind, and compiles
// and verifies the programs.
func TestCollectives(t *testing.T) {
	for _, top := range []*topologies.Topology{
		dgx1(t, 25, 0.7), resolve(t, "dgx-a100", 2), resolve(t, "mesh:3x3", 1), resolve(t, "hub:5", 1), resolve(t, "hypercube:3", 1),
		publishedtest.SharedNICs(2, 4), publishedtest.NDv2(3),
	} {
		for _, name := range []string{"allgather", "reducescatter", "allreduce"} {
			s := route(t, top, Options{Collective: name, Bytes: 1 << 20})
			if again := route(t, top, Options{Collective: name, Bytes: 1 << 20}); !reflect.DeepEqual(s, again) {
				t.Fatalf("%s on %s: two schedules of one call", name, top.Name)
			}
			for _, inPlace := range []bool{false, true} {
				p, err := s.Program(inPlace)
				if err != nil {
					t.Fatalf("%s on %s: %v", name, top.Name, err)
				}
				if refused := constraints.CheckRouting(p, top); len(refused) > 0 {
					t.Fatal(refused[0])
				}
				res, err := compiler.Compile(p, compiler.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if r := verify.Check(res.Program, verify.Options{}); !r.OK() {
					t.Fatal(r.Findings[0])
				}
			}
		}
	}
}

// randomSystem returns a system of n ranks with the links that always reports, and random
// others, of up to most GB/s and late ns.
func randomSystem(t *rapid.T, n int, most int64, late int, always func(a, b int) bool) *topologies.Topology {
	top := &topologies.Topology{Name: "random", Nodes: 1, Runtime: "nccl"}
	for r := range n {
		top.Ranks = append(top.Ranks, topologies.Rank{Local: r, SMs: 1})
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU})
	}
	for a := range n {
		for b := range n {
			if a != b && (always(a, b) || rapid.Bool().Draw(t, "link")) {
				top.Edges = append(top.Edges, topologies.Edge{From: a, To: b, Count: 1,
					Bandwidth: units.Bandwidth(rapid.Int64Range(1, most).Draw(t, "capacity") * 1e9), Latency: units.Duration(rapid.IntRange(0, late).Draw(t, "latency"))})
			}
		}
	}
	return top
}

// TestRandomSystems schedules on random connected systems with unequal and one-way links.
func TestRandomSystems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "ranks")
		top := randomSystem(t, n, 9, 9, func(a, b int) bool { return b == (a+1)%n })
		o := Options{
			Collective: rapid.SampledFrom([]string{"allgather", "reducescatter", "allreduce"}).Draw(t, "collective"),
			Bytes:      rapid.Int64Range(1, 1<<30).Draw(t, "bytes"),
		}
		s, err := Route(context.Background(), top, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(top); err != nil {
			t.Fatalf("%s: %v", s.Method, err)
		}
		if s.Gap() < -1e-9 {
			t.Fatalf("%v us: the bound is %v", s.TimeUS, s.BoundUS)
		}
		if _, err := s.Program(false); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFloorIsBelowEverySchedule: on random systems of one to three nodes no attempt of any
// policy with single chunks ends before the floor.
func TestFloorIsBelowEverySchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "ranks")
		nodes := rapid.IntRange(1, min(3, n)).Draw(t, "nodes")
		top := &topologies.Topology{Name: "random", Nodes: nodes, Runtime: "nccl"}
		for r := range n {
			node := r * nodes / n
			top.Ranks = append(top.Ranks, topologies.Rank{Node: node, Local: r, SMs: 1})
			top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU, Node: node})
		}
		for a := range n {
			for b := range n {
				if b == (a+1)%n || a != b && rapid.IntRange(0, 3).Draw(t, "link") == 0 {
					top.Edges = append(top.Edges, topologies.Edge{From: a, To: b, Count: 1,
						Bandwidth: units.Bandwidth(rapid.Int64Range(1, 9).Draw(t, "capacity") * 1e9), Latency: units.Duration(rapid.IntRange(0, 9).Draw(t, "latency"))})
				}
			}
		}
		part := rapid.Float64Range(1, 1e5).Draw(t, "part")
		graph, err := newHopGraph(context.Background(), top, rapid.Bool().Draw(t, "turned"))
		if err != nil {
			t.Skip(err)
		}
		floor := graph.lowerBound(part)
		for i, p := range policies {
			p.seed = uint64(i)
			_, end, err := newRun(graph, part).asynchronous(p, math.Inf(1))
			if err != nil {
				t.Fatal(err)
			}
			if end < floor*(1-1e-6) {
				t.Fatalf("policy %d: %v us, below the floor of %v", i, end, floor)
			}
		}
	})
}

// On random systems with unequal links, where matchings are compatible, the schedule is
// valid and takes no longer than the lower bound.
func TestMatchingMeetsTheLowerBound(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "ranks")
		top := randomSystem(t, n, 2, 1, func(a, b int) bool { return b == (a+1)%n || a == (b+1)%n })
		graph, err := newHopGraph(context.Background(), top, false)
		if err != nil {
			t.Fatal(err)
		}
		s := &Schedule{Collective: "allgather", Ranks: n, Bytes: 1 << 20}
		floor := graph.lowerBound(s.chunkBytes())
		list := graph.match(s.chunkBytes(), floor)
		if list == nil {
			return
		}
		matched++
		s.Sends, s.TimeUS = graph.play(list, s.chunkBytes())
		byStart(s.Sends)
		if err := s.Check(top); err != nil {
			t.Fatal(err)
		}
		if s.TimeUS > floor*(1+tolerance) {
			t.Fatalf("%v us: the floor is %v", s.TimeUS, floor)
		}
	})
	if matched < 10 {
		t.Errorf("%d matchings: too few of one kind for this test", matched)
	}
	// A DGX-1's slow links are used only for what its fast ones cannot bring in time.
	if s := route(t, dgx1(t, 23, 0.7), Options{Bytes: 1 << 30}); s.Method != "matching" || s.TimeUS > 8154.274 {
		t.Errorf("dgx-1: %v us by %s", s.TimeUS, s.Method)
	}
}

// TestCheckFindsEveryChange changes one place of a valid schedule at a time.
func TestCheckFindsEveryChange(t *testing.T) {
	top := dgx1(t, 25, 0.7)
	for _, c := range []struct {
		name string
		lie  func(s *Schedule)
		want string
	}{
		{"a shorter time", func(s *Schedule) { s.TimeUS /= 2 }, "schedule ends at"},
		{"fewer bytes", func(s *Schedule) { s.Bytes /= 2 }, "ends at"},
		{"an early end", func(s *Schedule) { s.Sends[3].End-- }, "ends at"},
		{"an early start", func(s *Schedule) {
			last := &s.Sends[len(s.Sends)-1]
			last.Start, last.End = last.Start-100, last.End-100
		}, "before the one before"},
		{"a send missing", func(s *Schedule) { s.Sends = s.Sends[:len(s.Sends)-1] }, "has not got chunk"},
		{"a send twice", func(s *Schedule) { s.Sends[1] = s.Sends[0] }, "is taken until"},
		{"no such link", func(s *Schedule) { s.Sends[0].From, s.Sends[0].To = 0, 7 }, "no link"},
		{"no such rank", func(s *Schedule) { s.Sends[0].To = 8 }, "below 8"},
		{"no such chunk", func(s *Schedule) { s.Sends[0].Chunks = []int32{99} }, "want 0 to 7"},
		{"another's chunk", func(s *Schedule) { s.Sends[0].Chunks = []int32{(s.Sends[0].Chunks[0] + 4) % 8} }, "not there"},
		{"a sum", func(s *Schedule) { s.Sends[0].Reduce = true }, "has left"},
		{"other latencies", func(s *Schedule) { s.Sends[0].Start += 0.5 }, "ends at"},
		{"another collective", func(s *Schedule) { s.Collective = "reducescatter" }, "not there whole"},
	} {
		s := route(t, top, Options{Bytes: 1 << 30})
		c.lie(s)
		if err := s.Check(top); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	top := resolve(t, "ring:4", 1)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	oneWay := &topologies.Topology{Name: "one way", Nodes: 1, Ranks: make([]topologies.Rank, 2), Vertices: make([]topologies.Vertex, 2),
		Edges: []topologies.Edge{{From: 0, To: 1, Bandwidth: 1e9}}}
	for _, c := range []struct {
		ctx  context.Context
		top  *topologies.Topology
		o    Options
		want string
	}{
		{context.Background(), top, Options{Collective: "alltoall", Bytes: 1}, "want allgather, reducescatter or allreduce"},
		{context.Background(), top, Options{}, "want at least 1"},
		{context.Background(), oneWay, Options{Bytes: 1}, "reach"},
		{done, publishedtest.NDv2(2), Options{Bytes: 1 << 40, Collective: "allgather"}, "canceled"},
	} {
		_, err := Route(c.ctx, c.top, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// TestRounding routes reductions on links inside a node whose times are so small beside
// the total that a message is rounded to arrive when it leaves.
func TestRounding(t *testing.T) {
	top := resolve(t, "ndv2", 2)
	for i := range top.Edges {
		e := &top.Edges[i]
		e.Latency, e.Message, e.Bandwidth = 0, 0, 999e12
		if e.Kind == topologies.Net {
			e.Bandwidth = 1
		}
	}
	for _, coll := range []string{"allgather", "reducescatter", "allreduce"} {
		s, err := Route(context.Background(), top, Options{Collective: coll, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(top); err != nil {
			t.Errorf("%s: %v", coll, err)
		}
	}
}

// BenchmarkTACOS makes the table of which docs/measurements/greedy.md has a part.
func BenchmarkTACOS(b *testing.B) {
	for _, r := range rows {
		top := r.system(b)
		b.Run(strings.ReplaceAll(r.topology, " ", "-"), func(b *testing.B) {
			var s *Schedule
			for b.Loop() {
				s = route(b, top, Options{Bytes: r.bytes})
			}
			b.ReportMetric(s.TimeUS, "us")
			b.ReportMetric(100*s.Gap(), "%over")
			b.ReportMetric(r.us, "TACOS-us")
		})
	}
}
