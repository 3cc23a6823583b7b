package rings

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/solver/solvertest"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// both runs a test with each solver that is there.
func both(t *testing.T, test func(t *testing.T, s *solver.Pool)) {
	for _, name := range []string{"pb", "z3"} {
		t.Run(name, func(t *testing.T) { test(t, solvertest.Open(t, solver.Options{Solver: name})) })
	}
}

var resolve = topotest.Resolve

// randomLinks are links of random widths up to widest, for graph.
func randomLinks(r *rand.Rand, n int, oneWay bool, density float64, widest int) (links [][3]int) {
	for a := range n {
		for b := range n {
			if a != b && (oneWay || a < b) && r.Float64() < density {
				links = append(links, [3]int{a, b, 1 + r.IntN(widest)})
			}
		}
	}
	return links
}

// graph is one node of n GPUs with the given links, each from-to-count; both
// ways unless one way is asked for.
func graph(n int, oneWay bool, links ...[3]int) *topologies.Topology {
	t := &topologies.Topology{Name: "graph", Nodes: 1}
	for i := range n {
		t.Ranks = append(t.Ranks, topologies.Rank{Local: i, SMs: 80})
		t.Vertices = append(t.Vertices, topologies.Vertex{Kind: topologies.GPU, Name: fmt.Sprintf("gpu %d", i)})
	}
	add := func(a, b, count int) {
		t.Edges = append(t.Edges, topologies.Edge{From: a, To: b, Kind: topologies.NVLink, Count: count,
			Bandwidth: 25e9 * units.Bandwidth(count), Latency: 1})
	}
	for _, l := range links {
		add(l[0], l[1], l[2])
		if !oneWay {
			add(l[1], l[0], l[2])
		}
	}
	slices.SortFunc(t.Edges, func(a, b topologies.Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return t
}

// The answers do not depend on the solver.
func TestRings(t *testing.T) {
	ring := func(orders ...[]int) [][]int { return orders }
	cases := []struct {
		topology     string
		nodes, count int
		orders       [][]int
		by           string
	}{
		// All eight double NVLinks of a DGX-1, then the same the other way round.
		{"dgx-1", 1, 1, ring([]int{0, 1, 3, 2, 6, 7, 5, 4}), "packing"},
		{"dgx-1", 1, 2, ring([]int{0, 1, 3, 2, 6, 7, 5, 4}, []int{0, 4, 5, 7, 6, 2, 3, 1}), "packing"},
		{"dgx-1", 1, 3, ring([]int{0, 1, 2, 6, 4, 5, 7, 3}, []int{0, 1, 3, 2, 6, 5, 7, 4}, []int{0, 4, 7, 5, 6, 2, 3, 1}), "packing"},
		// All 24 links of a DGX-1, both ways.
		{"dgx-1", 1, 6, ring([]int{0, 1, 2, 6, 4, 5, 7, 3}, []int{0, 1, 3, 2, 6, 7, 5, 4}, []int{0, 2, 3, 1, 5, 6, 7, 4},
			[]int{0, 3, 7, 5, 4, 6, 2, 1}, []int{0, 4, 5, 7, 6, 2, 3, 1}, []int{0, 4, 7, 6, 5, 1, 3, 2}), "packing"},
		{"dgx-1", 2, 1, ring([]int{0, 1, 2, 3, 7, 4, 5, 6, 8, 9, 10, 11, 15, 12, 13, 14}), "counting"},
		{"dgx-a100", 1, 1, ring([]int{0, 1, 2, 3, 4, 5, 6, 7}), "complete graph"},
		// Each ring leaves a node through a NIC of its own.
		{"dgx-a100", 2, 2, ring([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, []int{1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8}), "complete graph"},
		{"mi300x", 1, 1, ring([]int{0, 1, 2, 3, 4, 5, 6, 7}), "complete graph"},
		{"mi300x", 1, 2, ring([]int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 7, 6, 5, 4, 3, 2, 1}), "packing"},
		{"ring:6", 1, 1, ring([]int{0, 1, 2, 3, 4, 5}), "identity order"},
		{"ring:6", 1, 2, ring([]int{0, 1, 2, 3, 4, 5}, []int{0, 5, 4, 3, 2, 1}), "counting"},
		{"mesh:4x4", 1, 1, ring([]int{0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4}), "packing"},
		{"hypercube:3", 1, 1, ring([]int{0, 1, 3, 2, 6, 7, 5, 4}), "packing"},
		{"hub:2", 1, 1, ring([]int{0, 1}), "complete graph"},
		// No two of them step from one GPU to the same next one.
		{"mi300x", 2, 2, ring([]int{0, 1, 7, 2, 6, 3, 5, 4, 8, 9, 15, 10, 14, 11, 13, 12}, []int{1, 2, 0, 3, 7, 4, 6, 5, 9, 10, 8, 11, 15, 12, 14, 13}), "zigzag order"},
		// Every ring crosses from half to half of the box, and all of them share that link.
		{"l40s-8", 1, 3, ring(lists.UpTo(8), lists.UpTo(8), lists.UpTo(8)), "complete graph"},
	}
	both(t, func(t *testing.T, s *solver.Pool) {
		for _, c := range cases {
			topo := resolve(t, c.topology, c.nodes)
			a, err := Find(context.Background(), s, topo, Options{Count: c.count})
			if err != nil {
				t.Errorf("%s x%d: %v", c.topology, c.nodes, err)
				continue
			}
			if !reflect.DeepEqual(a.Orders, c.orders) || a.By != c.by {
				t.Errorf("%s x%d, %d rings: %v by %s", c.topology, c.nodes, c.count, a.Orders, a.By)
			}
		}
	})
}

// On systems whose first ring is too long to write down, the rings found are valid.
func TestRingsOfLargerSystems(t *testing.T) {
	cases := []struct {
		topology     string
		nodes, count int
	}{
		{"dgx-1", 4, 4}, {"mi300x", 1, 7}, {"torus:4x4", 1, 4}, {"hypercube:4", 1, 4}, {"torus:3x3x3", 1, 6}, {"torus:4x4x4", 1, 6}, {"dgx-a100", 128, 8}, {"mesh:8x8", 1, 1}, {"mesh:16x16", 1, 1},
		{"hub:2048", 1, 4}, {"ring:2048", 1, 1},
	}
	both(t, func(t *testing.T, s *solver.Pool) {
		for _, c := range cases {
			topo := resolve(t, c.topology, c.nodes)
			a, err := Find(context.Background(), s, topo, Options{Count: c.count})
			if err != nil || len(a.Orders) != c.count {
				t.Errorf("%s x%d: %d rings, %v", c.topology, c.nodes, len(a.Orders), err)
				continue
			}
			if err := Check(topo, a.Orders); err != nil {
				t.Errorf("%s x%d: %v", c.topology, c.nodes, err)
			}
		}
	})
}

// The reason why there is no ring can be checked by eye, and needs no solver.
func TestNoRingIsExplained(t *testing.T) {
	cases := []struct {
		name  string
		t     *topologies.Topology
		count int
		why   string
	}{
		{"one link", graph(4, false, [3]int{0, 1, 1}, [3]int{1, 2, 1}, [3]int{2, 0, 1}, [3]int{2, 3, 1}), 1, "gpu 3 has links to gpu 2 only"},
		{"one double link", graph(3, false, [3]int{0, 1, 1}, [3]int{1, 2, 2}), 1, "gpu 0 has links to gpu 1 only"},
		{"no link", graph(4, false, [3]int{0, 1, 1}, [3]int{1, 3, 1}, [3]int{3, 0, 1}), 1, "no path of links within a node joins gpu 0 to gpu 2"},
		{"no way in", graph(3, true, [3]int{0, 1, 1}, [3]int{1, 2, 1}, [3]int{0, 2, 1}, [3]int{2, 1, 1}), 1, "the links of gpu 0 are 2 out and 0 in, and each ring takes one of both"},
		{"no way out", graph(3, true, [3]int{1, 0, 1}, [3]int{2, 1, 1}, [3]int{2, 0, 1}, [3]int{1, 2, 1}), 1, "the links of gpu 0 are 0 out and 2 in"},
		{"two triangles", graph(6, false, [3]int{0, 1, 1}, [3]int{1, 2, 1}, [3]int{2, 0, 1}, [3]int{3, 4, 1}, [3]int{4, 5, 1}, [3]int{5, 3, 1}), 1,
			"no path of links within a node joins gpu 0 to gpu 3"},
		{"a bow tie", graph(5, false, [3]int{0, 1, 1}, [3]int{1, 2, 1}, [3]int{2, 0, 1}, [3]int{2, 3, 1}, [3]int{3, 4, 1}, [3]int{4, 2, 1}), 1,
			"without gpu 2 the other GPUs of its node are in 2 parts that no link joins"},
		{"two colours", resolve(t, "mesh:3x3", 1), 1, "a ring takes them in turns, and they are 5 and 4"},
		{"two that few leave", resolve(t, "frontier", 1), 6, "5 links lead from gpu 0 and gpu 1 to gpu 2, gpu 3"},
		{"all links together", resolve(t, "dgx-1", 2), 7, "7 rings take 49 steps from GPU to GPU of a node, and its links hold 48 of them"},
		{"there or back", resolve(t, "frontier", 2), 7, "7 rings take 49 steps from GPU to GPU of a node, and its links hold 48 of them"},
		{"too many", resolve(t, "dgx-1", 1), 7, "the links of gpu 0 are 6 out and 6 in, and each ring takes one of both"},
	}
	s := &solver.Pool{} // no solver at all
	for _, c := range cases {
		_, err := Find(context.Background(), s, c.t, Options{Count: c.count})
		var none *NoRingError
		if !errors.As(err, &none) || none.By != "" || !strings.Contains(none.Why, c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Petersen's graph has three links at every rank and no ring: all orders are tried.
func TestNoRingAmongAllOrders(t *testing.T) {
	var links [][3]int
	for i := range 5 {
		links = append(links, [3]int{i, (i + 1) % 5, 1}, [3]int{i, i + 5, 1}, [3]int{5 + i, 5 + (i+2)%5, 1})
	}
	_, err := Find(context.Background(), &solver.Pool{}, graph(10, false, links...), Options{})
	var none *NoRingError
	if !errors.As(err, &none) || none.By != "" || !strings.Contains(none.Why, "all were tried") {
		t.Errorf("got %v", err)
	}
}

// The flower snark of 20 (Isaacs 1975) has three links at every rank and no ring, and
// too many ranks to try all orders.
func TestNoRingProvedBySolver(t *testing.T) {
	both(t, func(t *testing.T, s *solver.Pool) {
		_, err := Find(context.Background(), s, flowerSnark(), Options{})
		var none *NoRingError
		if !errors.As(err, &none) || none.By != s.Solvers()[0] || !strings.Contains(err.Error(), "proved by "+none.By) {
			t.Errorf("got %v", err)
		}
	})
}

func flowerSnark() *topologies.Topology {
	var links [][3]int
	for i := range 5 {
		next := (i + 1) % 5
		links = append(links, [3]int{i, 5 + i, 1}, [3]int{i, 10 + i, 1}, [3]int{i, 15 + i, 1}, [3]int{5 + i, 5 + next, 1})
		if next == 0 { // the last two of each star go round together, twice
			links = append(links, [3]int{10 + i, 15, 1}, [3]int{15 + i, 10, 1})
		} else {
			links = append(links, [3]int{10 + i, 10 + next, 1}, [3]int{15 + i, 15 + next, 1})
		}
	}
	return graph(20, false, links...)
}

func TestRingLimits(t *testing.T) {
	s := solvertest.Open(t, solver.Options{})
	_, err := Find(context.Background(), s, flowerSnark(), Options{SolverWork: time.Nanosecond})
	var limit *TimeoutError
	if !errors.As(err, &limit) || !strings.Contains(err.Error(), "1 ring orders not settled") {
		t.Errorf("got %v", err)
	}
	for _, count := range []int{-1, 65} {
		if _, err := Find(context.Background(), s, resolve(t, "dgx-1", 1), Options{Count: count}); err == nil || !strings.Contains(err.Error(), "want 1 to 64") {
			t.Errorf("%d rings: %v", count, err)
		}
	}
}

// Two rings are found exactly where two orders of all share no link; otherwise they are
// refuted, by argument or by solver.
func TestTwoRingsAgainstBruteForce(t *testing.T) {
	s := solvertest.Open(t, solver.Options{})
	r := rand.New(rand.NewPCG(23, 24))
	found, argued := 0, 0
	const many = 200
	for i := range many {
		n := 3 + r.IntN(3)
		oneWay := r.IntN(2) == 0
		density := 0.5 + 0.5*r.Float64()
		links := randomLinks(r, n, oneWay, density, 2)
		topo := graph(n, oneWay, links...)
		a, err := Find(context.Background(), s, topo, Options{Count: 2})
		var none *NoRingError
		if err != nil && !errors.As(err, &none) {
			t.Fatal(err)
		}
		if (err == nil) != hasTwoRings(topo) {
			t.Fatalf("graph %d of %d, links %v: %v, %v", i, n, links, a.Orders, err)
		}
		switch {
		case err == nil:
			found++
		case none.By == "":
			argued++
		}
	}
	if found < many/5 || argued < many/5 {
		t.Errorf("%d of %d graphs have two rings, %d are argued to have none: too few of one kind for this test", found, many, argued)
	}
}

// No order, or pair of orders, has a wider narrowest step than the result of Find, by
// Width.
func TestRingsAreWidest(t *testing.T) {
	s := solvertest.Open(t, solver.Options{Solver: "pb"})
	r := rand.New(rand.NewPCG(51, 52))
	better := 0
	for i := range 60 {
		n := 3 + r.IntN(3)
		var links [][3]int
		for a := range n {
			for b := range a {
				if r.Float64() < 0.9 {
					links = append(links, [3]int{a, b, 1 + r.IntN(4)})
				}
			}
		}
		topo := graph(n, false, links...)
		rings := ringsOf(topo)
		for _, count := range []int{1, 2} {
			widest := units.Bandwidth(0)
			for _, a := range rings {
				if count == 1 {
					widest = max(widest, Width(topo, [][]int{a}))
					continue
				}
				for _, b := range rings {
					widest = max(widest, Width(topo, [][]int{a, b}))
				}
			}
			a, err := Find(context.Background(), s, topo, Options{Count: count})
			if got := Width(topo, a.Orders); got != widest {
				t.Fatalf("graph %d, links %v, %d rings: %v, width %v by %s (%v): want %v", i, links, count, a.Orders, got, a.By, err, widest)
			}
			if widest > Width(topo, [][]int{lists.UpTo(n)}) {
				better++
			}
		}
	}
	if better < 10 {
		t.Errorf("%d are wider than rank order: too few of one kind for this test", better)
	}
}

// hasTwoRings tries every two orders.
func hasTwoRings(t *topologies.Topology) bool {
	rings := ringsOf(t)
	for _, a := range rings {
		for _, b := range rings {
			if Check(t, [][]int{a, b}) == nil {
				return true
			}
		}
	}
	return false
}

// ringsOf lists all rings, each from rank 0 on.
func ringsOf(t *topologies.Topology) (rings [][]int) {
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == len(t.Ranks) {
			if CheckOrder(t, order) == nil {
				rings = append(rings, slices.Clone(order))
			}
			return
		}
		for next := range t.Ranks {
			if !slices.Contains(order, next) {
				extend(append(order, next))
			}
		}
	}
	extend([]int{0})
	return rings
}

// hasRing reports whether some order of the GPUs is a ring, by trying all.
func hasRing(t *topologies.Topology) bool {
	n := len(t.Ranks)
	order, used := []int{0}, make([]bool, n)
	used[0] = true
	var extend func() bool
	extend = func() bool {
		last := order[len(order)-1]
		if len(order) == n {
			return t.Linked(last, 0)
		}
		for next := range n {
			if !used[next] && t.Linked(last, next) {
				used[next], order = true, append(order, next)
				if extend() {
					return true
				}
				used[next], order = false, order[:len(order)-1]
			}
		}
		return false
	}
	return extend()
}

// On random graphs with one-way and two-way links, Find finds a ring exactly where there
// is one, with either solver.
func TestRingsAgainstBruteForce(t *testing.T) {
	pb := solvertest.Open(t, solver.Options{Solver: "pb"})
	auto := solvertest.Open(t, solver.Options{})
	r := rand.New(rand.NewPCG(21, 22))
	found := 0
	const many = 150
	for i := range many {
		n := 2 + r.IntN(6)
		oneWay := r.IntN(2) == 0
		density := 0.3 + 0.5*r.Float64()
		links := randomLinks(r, n, oneWay, density, 2)
		topo := graph(n, oneWay, links...)
		a, err := Find(context.Background(), pb, topo, Options{})
		var none *NoRingError
		if err != nil && !errors.As(err, &none) {
			t.Fatal(err)
		}
		if (err == nil) != hasRing(topo) {
			t.Fatalf("graph %d of %d, links %v: %v, %v", i, n, links, a.Orders, err)
		}
		b, other := Find(context.Background(), auto, topo, Options{})
		if !reflect.DeepEqual(a.Orders, b.Orders) || (err == nil) != (other == nil) {
			t.Fatalf("graph %d: %v by %s, %v by %s", i, a.Orders, a.By, b.Orders, b.By)
		}
		if err == nil {
			found++
		}
	}
	if found < many/5 || found > many*4/5 {
		t.Errorf("%d of %d graphs have a ring: too few of one kind for this test", found, many)
	}
}

// Solvers and packing agree on whether there are rings, one node or two, one ring
// or more.
func TestSolversAgreeWithPacking(t *testing.T) {
	s := solvertest.Open(t, solver.Options{Solver: "pb"})
	r := rand.New(rand.NewPCG(31, 32))
	statuses := map[bool]int{}
	compare := func(name string, topo *topologies.Topology, count int) {
		p, err := newRingProblem(context.Background(), topo, count)
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range p.widths(context.Background()) {
			at, _, err := p.findByPositions(context.Background(), s, width)
			if err != nil {
				t.Fatal(err)
			}
			orders, why, is := p.findByPacking(context.Background(), width)
			if is == packed && at == nil || is == impossible && at != nil {
				t.Fatalf("%s, %d rings of %v: %v by positions, %v by packing (%s)", name, count, width, at, orders, why)
			}
			if at != nil && !p.fitsWidth(at, width) {
				t.Fatalf("%s, %d rings of %v: %v does not fit", name, count, width, at)
			}
			statuses[at != nil]++
		}
	}
	for i := range 150 {
		n := 3 + r.IntN(4)
		var links [][3]int
		for a := range n {
			for b := range n {
				if a != b && r.IntN(2) == 0 {
					links = append(links, [3]int{a, b, 1 + r.IntN(3)})
				}
			}
		}
		compare(fmt.Sprint("graph ", i, links), graph(n, true, links...), 1+r.IntN(3))
	}
	for _, nodes := range []int{1, 2} {
		for _, count := range []int{1, 2, 3} {
			compare(fmt.Sprint("dgx-1 of ", nodes), resolve(t, "dgx-1", nodes), count)
		}
	}
	if statuses[true] < 10 || statuses[false] < 10 {
		t.Errorf("%v: too few of one kind for this test", statuses)
	}
}

// Renamed GPUs have rings exactly where they had them before.
func TestRingsOfRelabelledGPUs(t *testing.T) {
	s := solvertest.Open(t, solver.Options{Solver: "pb"})
	r := rand.New(rand.NewPCG(41, 42))
	links := [][3]int{{0, 1, 2}, {0, 4, 2}, {1, 3, 2}, {2, 3, 2}, {2, 6, 2}, {4, 5, 2}, {5, 7, 2}, {6, 7, 2},
		{0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 5, 1}, {3, 7, 1}, {4, 6, 1}, {4, 7, 1}, {5, 6, 1}}
	for range 10 {
		name := r.Perm(8)
		var renamed [][3]int
		for _, l := range links {
			renamed = append(renamed, [3]int{name[l[0]], name[l[1]], l[2]})
		}
		topo := graph(8, false, renamed...)
		for count, wide := range map[int]bool{1: true, 2: true, 6: false} {
			a, err := Find(context.Background(), s, topo, Options{Count: count})
			if err != nil {
				t.Fatal(err)
			}
			for _, order := range a.Orders {
				for i, from := range order {
					path, _ := topo.Path(from, order[(i+1)%8])
					if wide && topo.Edges[path.Edges[0]].Count != 2 {
						t.Errorf("%d rings of %v: %v takes a single link", count, name, order)
					}
				}
			}
		}
	}
}

func TestCheckRing(t *testing.T) {
	topo := resolve(t, "dgx-1", 1)
	for _, c := range []struct {
		order []int
		want  string
	}{
		{[]int{0, 1, 3, 2, 6, 7, 5, 4}, ""},
		{[]int{0, 1, 3, 2, 6, 7, 5}, "ring of 7 ranks"},
		{[]int{0, 1, 3, 2, 6, 7, 5, 8}, "ring through rank 8: dgx-1 has ranks 0 to 7"},
		{[]int{0, 1, 3, 2, 6, 7, 5, 0}, "rank 0 twice"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, "from rank 3 to rank 4: dgx-1 has no link"},
		{[]int{0, 1, 3, 2, 6, 4, 5, 7}, "from rank 7 to rank 0"},
	} {
		err := CheckOrder(topo, c.order)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c.order, err)
		}
	}
	one := []int{0, 2, 1, 5, 4, 6, 7, 3} // 0-2, 1-5, 4-6 and 7-3 are single links
	if err := Check(topo, [][]int{one, one}); err == nil || !strings.Contains(err.Error(), "ring 1 takes the link from rank 0 to rank 2") {
		t.Errorf("a link taken twice: %v", err)
	}
	wide := []int{0, 1, 3, 2, 6, 7, 5, 4}
	if err := Check(topo, [][]int{wide, wide}); err != nil {
		t.Errorf("double links taken twice: %v", err)
	}
	if err := Check(topo, [][]int{wide, wide, wide}); err == nil {
		t.Error("double links taken three times")
	}
	hub := resolve(t, "hub:4", 1)
	if err := Check(hub, [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}}); err != nil {
		t.Errorf("a switch shared: %v", err)
	}
}

func BenchmarkRings(b *testing.B) {
	for _, c := range []struct {
		topology string
		count    int
	}{{"dgx-1", 1}, {"dgx-1", 3}, {"mi300x", 7}, {"mesh:8x8", 1}, {"mesh:16x16", 1}} {
		for _, name := range []string{"pb", "z3"} {
			b.Run(fmt.Sprintf("%s/%d/%s", c.topology, c.count, name), func(b *testing.B) {
				s := solvertest.Open(b, solver.Options{Solver: name})
				topo := resolve(b, c.topology, 1)
				for b.Loop() {
					if _, err := Find(context.Background(), s, topo, Options{Count: c.count}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
