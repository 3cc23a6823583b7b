package rings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/solver/solvertest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// TestPackingAgrees packs rings on random graphs and on systems whose rings meet on
// few links, of random widths: where it settles anything, a solver says the same.
func TestPackingAgrees(t *testing.T) {
	s := solvertest.Open(t, solver.Options{Solver: "pb"})
	r := rand.New(rand.NewPCG(61, 62))
	verdicts := map[verdict]int{}
	for i := range 80 {
		var topo *topologies.Topology
		if i%2 == 0 {
			n, density := 3+r.IntN(4), 0.4+0.6*r.Float64()
			oneWay := r.IntN(2) == 0
			links := randomLinks(r, n, oneWay, density, 3)
			topo = graph(n, oneWay, links...)
		} else {
			name := []string{"lassen", "l40s-4", "perlmutter", "hub:5"}[r.IntN(4)]
			nodes := 1
			if name != "hub:5" {
				nodes += r.IntN(2)
			}
			known := resolve(t, name, nodes)
			edges := slices.Clone(known.Edges)
			for i := range edges {
				edges[i].Bandwidth /= units.Bandwidth(1 + r.IntN(3))
			}
			interleave(r, known, edges)
			topo = &topologies.Topology{Name: name, Nodes: known.Nodes, Runtime: known.Runtime, Ranks: known.Ranks, Vertices: known.Vertices, Edges: edges}
		}
		p, err := newRingProblem(context.Background(), topo, 1+r.IntN(4))
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range p.widths(context.Background()) {
			orders, why, is := p.findByPacking(context.Background(), width)
			verdicts[is]++
			if is == unsettled {
				continue
			}
			solved, _, err := p.findByPositions(context.Background(), s, width)
			if err != nil {
				t.Fatal(err)
			}
			if (is == packed) != (solved != nil) {
				t.Fatalf("%s %v, %d rings of %v: %v %q by packing, %v by a solver", topo.Name, topo.Edges, p.count, width, orders, why, solved)
			}
			if is == packed && !p.fitsWidth(orders, width) {
				t.Fatalf("%s, %d rings of %v: %v does not fit", topo.Name, p.count, width, orders)
			}
			if is == impossible && why == "" {
				t.Fatalf("%s, %d rings of %v: impossible, and no word why", topo.Name, p.count, width)
			}
		}
	}
	if verdicts[packed] < 30 || verdicts[impossible] < 8 || verdicts[unsettled] > verdicts[packed]/10 {
		t.Errorf("%v: too few of one kind for this test", verdicts)
	}
}

// interleave lets the GPUs of a node change places, in every node alike, so that
// the first of all orders crosses between its halves more often than it has to.
func interleave(r *rand.Rand, t *topologies.Topology, edges []topologies.Edge) {
	n := len(t.Ranks) / t.Nodes
	to := r.Perm(n)
	place := func(v int) int {
		if v < len(t.Ranks) {
			return v/n*n + to[v%n]
		}
		return v
	}
	for i := range edges {
		edges[i].From, edges[i].To = place(edges[i].From), place(edges[i].To)
	}
	slices.SortFunc(edges, func(a, b topologies.Edge) int { return cmp.Or(a.From-b.From, a.To-b.To) })
}

// The first of all orders crosses between the halves of a box at every step, on links
// that hold one crossing for each ring.
func TestPackingWhereNoneFits(t *testing.T) {
	box := &topologies.Topology{Name: "box", Nodes: 1}
	for i := range 10 {
		box.Ranks = append(box.Ranks, topologies.Rank{Local: i, SMs: 80})
		box.Vertices = append(box.Vertices, topologies.Vertex{Kind: topologies.GPU, Name: fmt.Sprintf("gpu %d", i)})
	}
	box.Vertices = append(box.Vertices, topologies.Vertex{Kind: topologies.Switch, Name: "a"}, topologies.Vertex{Kind: topologies.Switch, Name: "b"})
	join := func(a, b int, bandwidth units.Bandwidth) {
		for _, e := range [][2]int{{a, b}, {b, a}} {
			box.Edges = append(box.Edges, topologies.Edge{From: e[0], To: e[1], Kind: topologies.PCIe, Count: 1, Bandwidth: bandwidth, Latency: 1})
		}
	}
	for i := range 10 {
		join(i, 10+i%2, 12e9)
	}
	join(10, 11, 10e9)
	slices.SortFunc(box.Edges, func(a, b topologies.Edge) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	for count := 1; count <= 4; count++ {
		p, err := newRingProblem(context.Background(), box, count)
		if err != nil {
			t.Fatal(err)
		}
		width := units.Bandwidth(10e9 / count)
		orders, why, is := p.findByPacking(context.Background(), width)
		if is != packed || !p.fitsWidth(orders, width) {
			t.Errorf("%d rings of %v: %v %v %s", count, width, is, orders, why)
		}
	}
}

// The cheapest order is that of a search over all orders, on one node and on two.
func TestCheapestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "ranks")
		o := &cheapestOrder{n: n, closed: rapid.Bool().Draw(t, "closed"), cost: make([]int32, n<<n)}
		prices := rapid.SliceOfN(rapid.Int32Range(0, 5), 4, 4).Draw(t, "prices")
		for way := range o.hops {
			o.hops[way], o.steps[way], o.sources[way] = make([][][]int32, n), make([][]int32, n), make([]int, n)
			for i := range n {
				o.hops[way][i], o.steps[way][i] = make([][]int32, n), make([]int32, n)
				for j := range n {
					if i != j && rapid.IntRange(0, 3).Draw(t, "linked") > 0 {
						o.addStep(way, i, j, rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 2).Draw(t, "takes"))
					}
				}
			}
		}
		cost := func(order []int) (sum int32, ok bool) {
			for i, from := range order {
				way, to := 0, order[(i+1)%n]
				if i == n-1 && !o.closed {
					way = 1
				}
				if o.hops[way][from][to] == nil {
					return 0, false
				}
				for _, at := range o.hops[way][from][to] {
					sum += prices[at]
				}
			}
			return sum, true
		}
		least, any := int32(infinite), false
		var extend func(order []int)
		extend = func(order []int) {
			if len(order) == n {
				if c, ok := cost(order); ok {
					least, any = min(least, c), true
				}
			}
			for next := range n {
				if !slices.Contains(order, next) {
					extend(append(slices.Clone(order), next))
				}
			}
		}
		extend(nil)
		order, ok := o.find(prices)
		if ok != any {
			t.Fatalf("found %v: there is one %v", order, any)
		}
		if !ok {
			return
		}
		if c, ok := cost(order); !ok || c != least {
			t.Fatalf("%v costs %d: the least is %d", order, c, least)
		}
	})
}

// Packing alone fills the holes of the catalogue that solvers needed seconds for, or
// never filled.
func TestPackedRings(t *testing.T) {
	s := &solver.Pool{} // no solver at all
	for _, c := range []struct {
		topology     string
		nodes, count int
	}{{"dgx-1", 2, 4}, {"dgx-1", 2, 5}, {"dgx-1", 4, 6}, {"ndv2", 2, 4}, {"mi250", 1, 6}, {"mi250", 2, 3}, {"dgx-2", 2, 2}, {"frontier", 1, 4}, {"polaris", 2, 8}, {"alps", 1, 3}} {
		topo := resolve(t, c.topology, c.nodes)
		a, err := Find(context.Background(), s, topo, Options{Count: c.count})
		if err != nil || len(a.Orders) != c.count {
			t.Errorf("%d x %s: %d rings of %d, %v", c.nodes, c.topology, len(a.Orders), c.count, err)
		}
	}
	_, err := Find(context.Background(), s, resolve(t, "frontier", 1), Options{Count: 5})
	var none *NoRingError
	if !errors.As(err, &none) || none.By != "" || !strings.Contains(none.Why, "every ring takes 1 or more of these links, which hold 4: gpu 1 to gpu 3") {
		t.Errorf("frontier, 5 rings: %v", err)
	}
}

// Packing ends when its context does.
func TestPackingEnds(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Find(done, &solver.Pool{}, resolve(t, "mi250", 2), Options{Count: 4}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
