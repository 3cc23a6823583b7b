package rings

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/solver/solvertest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// TestCountingAgrees counts on systems whose rings meet on few links, of random
// widths, and has a solver find the first set of orders, or none.
func TestCountingAgrees(t *testing.T) {
	s := solvertest.Open(t, solver.Options{Solver: "pb"})
	r := rand.New(rand.NewPCG(51, 52))
	statuses := map[bool]int{}
	for range 60 {
		name := []string{"lassen", "l40s-4", "perlmutter", "hub:5"}[r.IntN(4)]
		topo := resolve(t, name, 0)
		if name != "hub:5" {
			topo = resolve(t, name, 1+r.IntN(3))
		}
		edges := slices.Clone(topo.Edges)
		for i := range edges {
			edges[i].Bandwidth /= units.Bandwidth(1 + r.IntN(3))
		}
		topo = &topologies.Topology{Name: name, Nodes: topo.Nodes, Runtime: topo.Runtime, Ranks: topo.Ranks, Vertices: topo.Vertices, Edges: edges}
		p, err := newRingProblem(context.Background(), topo, 1+r.IntN(4))
		if err != nil {
			t.Fatal(err)
		}
		widths := p.widths(context.Background())
		if len(widths) == 0 {
			continue
		}
		width := widths[r.IntN(len(widths))]
		counted, settled := p.findByCounting(width)
		if !settled {
			continue
		}
		solved, _, err := p.findByPositions(context.Background(), s, width)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(counted, solved) {
			t.Fatalf("%s of %d nodes, %d rings of %v: %v by counting, %v by a solver", name, topo.Nodes, p.count, width, counted, solved)
		}
		if counted != nil && !p.fitsWidth(counted, width) {
			t.Fatalf("%s of %d nodes, %d rings of %v: %v does not fit", name, topo.Nodes, p.count, width, counted)
		}
		statuses[counted != nil]++
	}
	if statuses[true] < 10 || statuses[false] < 2 {
		t.Errorf("%v: too few of one kind for this test", statuses)
	}
}

// TestCountedRings has holes that a solver did not fill within its time, none of
// them by one.
func TestCountedRings(t *testing.T) {
	s := &solver.Pool{} // no solver at all
	for _, c := range []struct {
		topology     string
		nodes, count int
	}{{"lassen", 1, 4}, {"lassen", 2, 7}, {"lassen", 2, 8}, {"t4-8", 2, 4}, {"t4-8", 2, 8}, {"a10g-8", 2, 3}, {"l40s-8", 2, 8}, {"l40s-4", 2, 16}} {
		a, err := Find(context.Background(), s, resolve(t, c.topology, c.nodes), Options{Count: c.count})
		if err != nil || len(a.Orders) != c.count {
			t.Errorf("%d x %s: %d rings of %d, %v", c.nodes, c.topology, len(a.Orders), c.count, err)
		}
	}
	// The NICs' 12.5 each way hold four rings each of 3.125, if half of them leave
	// and enter a node at either processor.
	a, err := Find(context.Background(), s, resolve(t, "lassen", 2), Options{Count: 8})
	if err != nil {
		t.Fatal(err)
	}
	last := map[int]int{}
	for _, order := range a.Orders {
		last[order[3]/2]++
	}
	if last[0] != 4 || last[1] != 4 {
		t.Errorf("%v: rings leave a node at its two processors %v times", a.Orders, last)
	}
}
