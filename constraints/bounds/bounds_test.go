package bounds

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

var resolve = topotest.Resolve

func bound(t interface{ Fatal(...any) }, top *topologies.Topology, name string, root int) Bound {
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Of(context.Background(), top, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKnownBounds compares with published values (allgather: ForestColl) and with
// arithmetic.
func TestKnownBounds(t *testing.T) {
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
		root       int
		exact      string // GB/s
		steps      int
	}{
		{"dgx-a100", 1, "allgather", 0, "2400/7", 1},          // 342.857
		{"dgx-a100", 2, "allgather", 0, "1040/3", 1},          // 346.667
		{"dgx-a100", 4, "allgather", 0, "800/3", 1},           // 266.667
		{"dgx-1", 1, "allgather", 0, "1200/7", 2},             // 171.429
		{"ring:8@50GB/s", 1, "allgather", 0, "800/7", 4},      // 114.286
		{"mesh:8x8@50GB/s", 1, "allgather", 0, "6400/63", 14}, // 101.587
		{"mesh:4x4@50GB/s", 1, "allgather", 0, "320/3", 6},    // 106.667
		{"dgx-a100", 2, "reducescatter", 0, "1040/3", 1},
		{"mesh:8x8@50GB/s", 1, "reducescatter", 0, "6400/63", 14},
		{"dgx-a100", 1, "allreduce", 0, "1200/7", 1},  // 8·300 over 2·7
		{"mesh:3@50GB/s", 1, "allreduce", 0, "50", 2}, // into the middle and back reaches it; twice the allgather bound says 37.5
		{"ring:8@50GB/s", 1, "allreduce", 0, "400/7", 4},
		{"dgx-a100", 4, "allreduce", 0, "400/3", 1}, // 4·200 over 2·3 between nodes
		{"dgx-a100", 1, "broadcast", 3, "300", 1},
		{"dgx-a100", 2, "broadcast", 3, "200", 1},
		{"dgx-1", 1, "broadcast", 0, "150", 2},
		{"dgx-1", 1, "reduce", 0, "150", 2},
		{"ring:8@50GB/s", 1, "gather", 2, "800/7", 4},
		{"ring:8@50GB/s", 1, "scatter", 2, "800/7", 4},
		{"mesh:8x8@50GB/s", 1, "scatter", 0, "6400/63", 14},
		{"dgx-a100", 1, "alltoall", 0, "2400/7", 1},
		{"dgx-a100", 2, "alltoall", 0, "50", 1}, // 8·8 pairs of 1/16 through 200
		{"ring:8@50GB/s", 1, "alltoall", 0, "50", 4},
		{"mesh:8x8@50GB/s", 1, "alltoall", 0, "25", 14},
		{"hypercube:6", 1, "alltoall", 0, "100", 6},
		{"dgx-a100", 3, "alltonext", 0, "200", 1},
		{"dgx-a100", 3, "sendrecv", 0, "200", 1},
		// The other direction is open as well, one seventh to each pair.
		{"ring:8@50GB/s", 1, "alltonext", 0, "400/7", 1},
		{"ring:8@50GB/s", 1, "sendrecv", 0, "400/7", 1},
	} {
		b := bound(t, resolve(t, c.topology, c.nodes), c.collective, c.root)
		if b.Exact != c.exact || b.LatencySteps != c.steps {
			t.Errorf("%s on %d x %s: %s GB/s in %d steps, want %s in %d (%s)", c.collective, c.nodes, c.topology, b.Exact, b.LatencySteps, c.exact, c.steps, b.Proof)
		}
	}
}

// random draws a connected system of one node with up to 6 ranks and 2 switches, whose
// links have one width in both directions.
func random(t *rapid.T) *topologies.Topology {
	n := rapid.IntRange(2, 6).Draw(t, "ranks")
	top := &topologies.Topology{Name: "random", Nodes: 1, Runtime: "nccl"}
	for r := range n {
		top.Ranks = append(top.Ranks, topologies.Rank{Local: r, SMs: 1})
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU})
	}
	for range rapid.IntRange(0, 2).Draw(t, "switches") {
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.Switch})
	}
	for a := range top.Vertices {
		for b := range a {
			// A chain of the ranks keeps it connected.
			if chain := a < n && b == a-1; chain || rapid.Bool().Draw(t, "link") {
				join(top, a, b, rapid.Int64Range(1, 9).Draw(t, "capacity"), float64(rapid.IntRange(0, 4).Draw(t, "latency")))
			}
		}
	}
	return sorted(top)
}

func join(top *topologies.Topology, a, b int, gbps int64, us float64) {
	e := topologies.Edge{From: a, To: b, Count: 1, Bandwidth: units.Bandwidth(gbps * 1e9), Latency: units.Duration(us)}
	top.Edges = append(top.Edges, e)
	e.From, e.To = b, a
	top.Edges = append(top.Edges, e)
}

// sorted returns a copy of a changed topology with its edges in order.
func sorted(top *topologies.Topology) *topologies.Topology {
	edges := slices.Clone(top.Edges)
	slices.SortFunc(edges, func(a, b topologies.Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return &topologies.Topology{Name: top.Name, Nodes: top.Nodes, Runtime: top.Runtime, Ranks: top.Ranks, Vertices: top.Vertices, Edges: edges}
}

// out returns the capacity out of a set of vertices, in bytes per second.
func out(top *topologies.Topology, set int) (sum int64) {
	for _, e := range top.Edges {
		if set>>e.From&1 == 1 && set>>e.To&1 == 0 {
			sum += int64(e.Bandwidth)
		}
	}
	return sum
}

// TestEveryCut compares the bounds known to be tight with the minimum over all sets of
// vertices of small systems.
func TestEveryCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		n := len(top.Ranks)
		least := map[string]*big.Rat{}
		note := func(name string, capacity, parts, of int64) {
			r := big.NewRat(capacity*of, parts)
			if least[name] == nil || r.Cmp(least[name]) < 0 {
				least[name] = r
			}
		}
		for set := 1; set < 1<<len(top.Vertices)-1; set++ {
			k := 0
			for r := range n {
				k += set >> r & 1
			}
			if k == 0 || k == n {
				continue
			}
			capacity, pairs := out(top, set), int64(0)
			for r := range n {
				if set>>r&1 == 1 && set>>((r+1)%n)&1 == 0 {
					pairs++
				}
			}
			note("allgather", capacity, int64(k), int64(n))
			note("reducescatter", capacity, int64(n-k), int64(n))
			note("all cuts of alltoall", capacity, int64(k*(n-k)), int64(n))
			note("all cuts of sendrecv", capacity, pairs, 1)
			if set&1 == 1 {
				note("broadcast", capacity, 1, 1)
				note("scatter", capacity, int64(n-k), int64(n))
			} else {
				note("reduce", capacity, 1, 1)
				note("gather", capacity, int64(k), int64(n))
			}
		}
		for _, name := range []string{"allgather", "reducescatter", "broadcast", "reduce", "gather", "scatter"} {
			b := bound(t, top, name, 0)
			if b.AlgbwBps.Cmp(least[name]) != 0 {
				t.Fatalf("%s: %v, but the narrowest cut says %v", name, b.AlgbwBps, least[name])
			}
			if len(b.Cut) == 0 || len(b.Cut) == n || !slices.IsSorted(b.Cut) {
				t.Fatalf("%s: cut %v proves nothing", name, b.Cut)
			}
		}
		for _, name := range []string{"alltoall", "sendrecv"} {
			if b := bound(t, top, name, 0); b.AlgbwBps.Cmp(least["all cuts of "+name]) > 0 {
				t.Fatalf("%s: %v is above its narrowest cut, %v", name, b.AlgbwBps, least["all cuts of "+name])
			}
		}
	})
}

// hops returns the edges of a path from a to b.
func hops(t *rapid.T, top *topologies.Topology, a, b int) (edges []int) {
	via := make([]int, len(top.Vertices))
	for v := range via {
		via[v] = -1
	}
	queue := []int{a}
	for i := 0; i < len(queue); i++ {
		next := top.Out(queue[i])
		turn := rapid.IntRange(0, max(len(next)-1, 0)).Draw(t, "first")
		for j := range next {
			e := int(next[(j+turn)%len(next)])
			if to := top.Edges[e].To; to != a && via[to] < 0 {
				via[to] = e
				queue = append(queue, to)
			}
		}
	}
	for at := b; at != a; at = top.Edges[via[at]].From {
		edges = append(edges, via[at])
	}
	return edges
}

// TestNoRoutingBeatsIt: the bandwidth that the busiest link of a valid routing allows is
// at most the bound, on random systems.
func TestNoRoutingBeatsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		n := len(top.Ranks)
		// reached returns the bandwidth if edge e carries load[e]/of of the size.
		reached := func(load []int64, of int64) *big.Rat {
			var worst *big.Rat
			for e, l := range load {
				if l == 0 {
					continue
				}
				if r := big.NewRat(int64(top.Edges[e].Bandwidth)*of, l); worst == nil || r.Cmp(worst) < 0 {
					worst = r
				}
			}
			return worst
		}
		for _, c := range []struct {
			name string
			of   int64
			to   func(a, b int) bool
		}{
			{"alltoall", int64(n), func(a, b int) bool { return a != b }},
			{"alltonext", 1, func(a, b int) bool { return b == a+1 }},
			{"sendrecv", 1, func(a, b int) bool { return b == (a+1)%n }},
			{"gather", int64(n), func(a, b int) bool { return a != 0 && b == 0 }},
			{"scatter", int64(n), func(a, b int) bool { return a == 0 && b != 0 }},
		} {
			load := make([]int64, len(top.Edges))
			for a := range n {
				for b := range n {
					if c.to(a, b) {
						for _, e := range hops(t, top, a, b) {
							load[e]++
						}
					}
				}
			}
			if b, r := bound(t, top, c.name, 0), reached(load, c.of); b.AlgbwBps.Cmp(r) < 0 {
				t.Fatalf("%s runs at %v: above its bound %v (%s)", c.name, r, b.AlgbwBps, b.Proof)
			}
		}
		// A pipelined chain reduces towards one rank and broadcasts back: every hop
		// carries the size once in each direction.
		order := rapid.Permutation(lists.UpTo(n)).Draw(t, "order")
		load := make([]int64, len(top.Edges))
		for i := range n - 1 {
			a, b := order[i], order[i+1]
			for _, e := range append(hops(t, top, a, b), hops(t, top, b, a)...) {
				load[e]++
			}
		}
		allreduce := bound(t, top, "allreduce", 0)
		if r := reached(load, 1); allreduce.AlgbwBps.Cmp(r) < 0 {
			t.Fatalf("allreduce runs at %v: above its bound %v (%s)", r, allreduce.AlgbwBps, allreduce.Proof)
		}
		// A reducescatter and an allgather at their bounds make an allreduce. Both bounds
		// are reached, as links have one width in both directions.
		ag, rs := bound(t, top, "allgather", 0).AlgbwBps, bound(t, top, "reducescatter", 0).AlgbwBps
		both := new(big.Rat).Mul(ag, rs)
		both.Quo(both, new(big.Rat).Add(ag, rs))
		if allreduce.AlgbwBps.Cmp(both) < 0 {
			t.Fatalf("allreduce's bound %v is below the composition's %v (%s)", allreduce.AlgbwBps, both, allreduce.Proof)
		}
	})
}

func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		n := len(top.Ranks)
		name := rapid.SampledFrom(names()).Draw(t, "collective")
		b := bound(t, top, name, 0)

		twice := sorted(top)
		for i := range twice.Edges {
			twice.Edges[i].Bandwidth *= 2
		}
		if got := bound(t, twice, name, 0).AlgbwBps; got.Cmp(new(big.Rat).Mul(b.AlgbwBps, big.NewRat(2, 1))) != 0 {
			t.Fatalf("%s: %v with links twice as wide, was %v", name, got, b.AlgbwBps)
		}

		more := sorted(top)
		e := rapid.IntRange(0, len(more.Edges)-1).Draw(t, "edge")
		more.Edges[e].Bandwidth += 3e9
		if got := bound(t, more, name, 0); got.AlgbwBps.Cmp(b.AlgbwBps) < 0 {
			t.Fatalf("%s: %v with a wider link, was %v", name, got.AlgbwBps, b.AlgbwBps)
		}

		// A routing that does not use a new link stays valid.
		from, to := rapid.IntRange(0, len(top.Vertices)-1).Draw(t, "from"), rapid.IntRange(0, len(top.Vertices)-1).Draw(t, "to")
		if from != to && !slices.ContainsFunc(top.Edges, func(e topologies.Edge) bool { return e.From == from && e.To == to }) {
			linked := sorted(top)
			join(linked, from, to, 5, 1)
			linked.Edges = linked.Edges[:len(linked.Edges)-1] // one way
			if got := bound(t, sorted(linked), name, 0); got.AlgbwBps.Cmp(b.AlgbwBps) < 0 || got.LatencySteps > b.LatencySteps || got.LatencyUS > b.LatencyUS {
				t.Fatalf("%s: %v, %d steps, %v us with a link more, was %v, %d, %v", name, got.AlgbwBps, got.LatencySteps, got.LatencyUS, b.AlgbwBps, b.LatencySteps, b.LatencyUS)
			}
		}

		turned := sorted(top)
		for i := range turned.Edges {
			turned.Edges[i].From, turned.Edges[i].To = turned.Edges[i].To, turned.Edges[i].From
		}
		turned = sorted(turned)
		mirror := map[string]string{"allgather": "reducescatter", "reducescatter": "allgather", "gather": "scatter", "scatter": "gather",
			"broadcast": "reduce", "reduce": "broadcast", "alltoall": "alltoall", "allreduce": "allreduce"}[name]
		if mirror != "" {
			if got := bound(t, turned, mirror, 0); got.AlgbwBps.Cmp(b.AlgbwBps) != 0 || got.LatencySteps != b.LatencySteps || got.LatencyUS != b.LatencyUS {
				t.Fatalf("%s turned round is %s: %+v, was %+v", name, mirror, got, b)
			}
		}

		perm := rapid.Permutation(lists.UpTo(n)).Draw(t, "labels")
		relabelled := sorted(top)
		for i, e := range relabelled.Edges {
			if e.From < n {
				relabelled.Edges[i].From = perm[e.From]
			}
			if e.To < n {
				relabelled.Edges[i].To = perm[e.To]
			}
		}
		relabelled = sorted(relabelled)
		if name != "alltonext" && name != "sendrecv" {
			rooted := name == "broadcast" || name == "reduce" || name == "gather" || name == "scatter"
			if got := bound(t, relabelled, name, perm[0]*btoi(rooted)); got.AlgbwBps.Cmp(b.AlgbwBps) != 0 || got.LatencySteps != b.LatencySteps || got.LatencyUS != b.LatencyUS {
				t.Fatalf("%s: %v, %d steps, %v us with other labels, was %v, %d, %v", name, got.AlgbwBps, got.LatencySteps, got.LatencyUS, b.AlgbwBps, b.LatencySteps, b.LatencyUS)
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestLikeNodes compares bounds by representatives of equal nodes with bounds by every
// rank.
func TestLikeNodes(t *testing.T) {
	for _, arg := range []string{"dgx-a100", "dgx-1", "mi300x"} {
		top := resolve(t, arg, 3)
		for _, name := range names() {
			c, err := collective.New(collective.Spec{Name: name, Ranks: 24, Chunks: 1})
			if err != nil {
				t.Fatal(err)
			}
			forward, err := newNetwork(top, int64(len(top.Ranks)))
			if err != nil {
				t.Fatal(err)
			}
			p := newProblem(t.Context(), top, c, forward)
			if !p.nodesInterchangeable {
				t.Fatalf("the nodes of %s are not alike", arg)
			}
			short := bandwidthRules[name](p)
			steps, us := p.latency()
			p.nodesInterchangeable = false
			long := bandwidthRules[name](p)
			allSteps, allUS := p.latency()
			if short.algbw.Cmp(long.algbw) != 0 || steps != allSteps || us != allUS {
				t.Errorf("%s on %s: %v in %d steps, %v us; of all ranks %v in %d, %v us", name, arg, short.algbw, steps, us, long.algbw, allSteps, allUS)
			}
		}
	}
}

func TestUnlikeNodes(t *testing.T) {
	top := resolve(t, "dgx-1", 2)
	wider := sorted(top)
	wider.Edges[0].Bandwidth++
	if !interchangeable(top) || interchangeable(wider) {
		t.Error("nodes are alike only where all their links are")
	}
	if interchangeable(resolve(t, "hub:4", 1)) {
		t.Error("one node is not alike to any other")
	}
}

func TestRefuses(t *testing.T) {
	c, err := collective.New(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Of(context.Background(), resolve(t, "ring:8", 1), c); err == nil || !strings.Contains(err.Error(), "allgather over 4 ranks on ring:8 of 8") {
		t.Errorf("4 ranks on 8: %v", err)
	}
	alone := &topologies.Topology{Nodes: 1, Ranks: make([]topologies.Rank, 1), Vertices: make([]topologies.Vertex, 1)}
	if b := bound(t, alone, "allreduce", 0); b.AlgbwBps != nil || b.TimeUS(1<<30) != 0 {
		t.Errorf("one rank: %+v", b)
	}
}

func TestTimeUS(t *testing.T) {
	b := bound(t, resolve(t, "hub:8@50GB/s,3us", 1), "allgather", 0)
	if got := b.TimeUS(8); got != 6 {
		t.Errorf("8 bytes take %v us, want two links of 3 us", got)
	}
	if got, want := b.TimeUS(8<<30), float64(8<<30)*7/8/50e3; got > want || got < want*0.999999 {
		t.Errorf("8 GiB take %v us, want %v", got, want)
	}
	third, long := 1.0/3, 123456.7891234
	for _, c := range []struct {
		sum  float64 // of floats, as a program adds them up
		want float64
	}{
		{added(0.1, 0.2), 0.3},
		{added(0.7, 0.7, 0.3), 1.7},
		{1, 1},
		{0, 0},
		{third, third * roundingMargin}, // no decimal: on the safe side
		{long, long * roundingMargin},
	} {
		if got := roundDown(c.sum); got != c.want {
			t.Errorf("%v is settled as %v, want %v", c.sum, got, c.want)
		}
	}
}

func added(terms ...float64) (sum float64) {
	for _, t := range terms {
		sum += t
	}
	return sum
}

// TestWideCapacities: flows stay in range if capacities have no common divisor and ranks
// are many; bounds are rounded up by less than 1e-6.
func TestWideCapacities(t *testing.T) {
	top := resolve(t, "hub:300@999999999.999999MB/s", 1)
	top.Edges[0].Bandwidth -= 1 // no common divisor left
	b := bound(t, top, "allgather", 0)
	want := float64(999999999999999) * 300 / 299
	got, _ := b.AlgbwBps.Float64()
	if got < want*(1-1e-12) || got > want*(1+1e-6) {
		t.Errorf("%v, want a hair above %v", got, want)
	}
}

func BenchmarkOf(b *testing.B) {
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
	}{
		{"dgx-a100", 4, "allgather"}, {"mesh:8x8", 1, "allgather"}, {"dgx-a100", 128, "allgather"}, {"dgx-a100", 128, "allreduce"}, {"dgx-a100", 128, "alltoall"},
		{"dgx-a100", 256, "sendrecv"}, {"torus:16x16", 1, "allreduce"}, {"mesh:32x32", 1, "allgather"},
	} {
		top := resolve(b, c.topology, c.nodes)
		b.Run(c.collective+"/"+c.topology, func(b *testing.B) {
			for b.Loop() {
				bound(b, top, c.collective, 0)
			}
		})
	}
}

// TestLatencyOverRails: with rail-only networks, a path between different GPU numbers of
// two nodes takes one more send inside a node.
func TestLatencyOverRails(t *testing.T) {
	text, ok := topologies.Source("dgx-a100")
	if !ok {
		t.Fatal("no dgx-a100")
	}
	for planes, want := range map[int]int{1: 1, 8: 2} {
		rails := strings.Replace(string(text), "[fabric]\n", fmt.Sprintf("[fabric]\nplanes = %d\n", planes), 1)
		top, err := topologies.Read("rails.toml", []byte(rails), topologies.Options{Nodes: 3})
		if err != nil {
			t.Fatal(err)
		}
		if b := bound(t, top, "alltoall", 0); b.LatencySteps != want {
			t.Errorf("%d planes: %d sends in a row, want %d", planes, b.LatencySteps, want)
		}
	}
}
