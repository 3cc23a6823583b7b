package bounds

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// TestLengthsProve recomputes the bound from the edge lengths alone, with distances by
// Floyd and Warshall.
func TestLengthsProve(t *testing.T) {
	proved := 0
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		n := len(top.Ranks)
		for name, c := range map[string]struct {
			part int64
			to   func(a, b int) bool
		}{
			"alltoall":  {int64(n), func(a, b int) bool { return a != b }},
			"alltonext": {1, func(a, b int) bool { return b == a+1 }},
			"sendrecv":  {1, func(a, b int) bool { return b == (a+1)%n }},
		} {
			b := bound(t, top, name, 0)
			if b.Lengths == nil {
				continue
			}
			proved++
			carried, far := new(big.Int), int64(0)
			for e, l := range b.Lengths {
				if l < 0 {
					t.Fatalf("%s: length %d", name, l)
				}
				carried.Add(carried, new(big.Int).Mul(big.NewInt(l), big.NewInt(int64(top.Edges[e].Bandwidth))))
			}
			distance := allDistances(top, b.Lengths)
			for i := range n {
				for j := range n {
					if c.to(i, j) {
						far += distance[i][j]
					}
				}
			}
			want := new(big.Rat).SetFrac(carried, big.NewInt(far))
			if want.Mul(want, big.NewRat(c.part, 1)); want.Cmp(b.AlgbwBps) != 0 {
				t.Fatalf("%s: %v, the lengths prove %v", name, b.AlgbwBps, want)
			}
		}
	})
	if proved == 0 {
		t.Error("no bound was proved by lengths")
	}
}

func allDistances(top *topologies.Topology, lengths []int64) [][]int64 {
	n := len(top.Vertices)
	d := make([][]int64, n)
	for v := range d {
		d[v] = make([]int64, n)
		for w := range d[v] {
			if d[v][w] = math.MaxInt64 / 4; v == w {
				d[v][w] = 0
			}
		}
	}
	for e, l := range lengths {
		from, to := top.Edges[e].From, top.Edges[e].To
		d[from][to] = min(d[from][to], l)
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

// TestLengthsBeatCuts uses the smallest graph known whose multicommodity flow is below its
// sparsest cut: K2,3. Distances sum to 12·1 + (2+6)·2 = 28 over 12 links.
func TestLengthsBeatCuts(t *testing.T) {
	top := &topologies.Topology{Name: "K2,3", Nodes: 1, Runtime: "nccl", Ranks: make([]topologies.Rank, 5), Vertices: make([]topologies.Vertex, 5)}
	for a := range 2 {
		for b := 2; b < 5; b++ {
			join(top, a, b, 1, 0)
		}
	}
	top = sorted(top)
	b := bound(t, top, "alltoall", 0)
	if want := "15/7"; b.Exact != want {
		t.Errorf("alltoall: %s GB/s, want %s (%s)", b.Exact, want, b.Proof)
	}
}

// atMost reports whether a flow's bandwidth is at most a bound, but for rounding.
func atMost(reached float64, bound *big.Rat) bool {
	most, _ := bound.Float64()
	return reached <= most*(1+1e-7)
}

// reaches reports whether a flow's bandwidth is the bound, but for rounding.
func reaches(b Bound) bool {
	most, _ := b.AlgbwBps.Float64()
	return atMost(b.ReachedBps, b.AlgbwBps) && b.ReachedBps >= most*(1-1e-7)
}

// TestFlowsMeetLengths compares primal and dual, which share little code: the flow summed
// over its trees, and the bound from edge lengths. Lengths are rounded if they have no
// small common measure, which is rare.
func TestFlowsMeetLengths(t *testing.T) {
	met, apart := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		for _, name := range []string{"alltoall", "alltonext", "sendrecv"} {
			b := bound(t, top, name, 0)
			switch {
			case b.ReachedBps <= 0 || !atMost(b.ReachedBps, b.AlgbwBps):
				t.Fatalf("%s: a flow reaches %v, the bound is %v (%s)", name, b.ReachedBps, b.AlgbwBps, b.Proof)
			case reaches(b):
				met++
			default:
				apart++
			}
		}
	})
	if met <= 9*apart {
		t.Errorf("%d flows reach the bound, %d do not", met, apart)
	}
}

// TestFlowsReachBounds: flows reach alltoall's bounds on the whole catalogue and on grids.
func TestFlowsReachBounds(t *testing.T) {
	type system struct {
		topology string
		nodes    int
	}
	systems := []system{{"mesh:4x4", 0}, {"mesh:8x8", 0}, {"mesh:3x5x4", 0}, {"torus:8x8", 0}, {"torus:4x4x4", 0}, {"torus:5x7", 0},
		{"hypercube:6", 0}, {"fullmesh:64", 0}, {"hub:64", 0}, {"ring:33", 0}, {"ring:64", 0}, {"torus:16x16", 0}, {"ndv2", 4}, {"mi250", 4}, {"dgx-1", 8}}
	for _, entry := range topologies.Names() {
		systems = append(systems, system{entry, 1}, system{entry, 2})
	}
	for _, s := range systems {
		if b := bound(t, resolve(t, s.topology, s.nodes), "alltoall", 0); !reaches(b) {
			t.Errorf("%d x %s: a flow reaches %v, the bound is %v (%s)", s.nodes, s.topology, b.ReachedBps, b.AlgbwBps, b.Proof)
		}
	}
}

// wired draws a system of one node: a ring of ranks with chords.
func wired(t *rapid.T, n int) *topologies.Topology {
	top := &topologies.Topology{Name: "wired", Nodes: 1, Runtime: "nccl", Ranks: make([]topologies.Rank, n), Vertices: make([]topologies.Vertex, n)}
	linked := map[[2]int]bool{}
	link := func(a, b int) {
		if a, b := min(a, b), max(a, b); a != b && !linked[[2]int{a, b}] {
			linked[[2]int{a, b}] = true
			join(top, a, b, rapid.Int64Range(1, 4).Draw(t, "capacity"), 0)
		}
	}
	for r := range n {
		link(r, (r+1)%n)
	}
	for range rapid.IntRange(0, n).Draw(t, "across") {
		link(rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to"))
	}
	return sorted(top)
}

// TestLabelsOfMany renames the ranks of systems too large for exhaustive cuts: a bound
// that a flow reaches does not change.
func TestLabelsOfMany(t *testing.T) {
	met, apart := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(maxExhaustiveRanks+1, 2*maxExhaustiveRanks).Draw(t, "ranks")
		top := wired(t, n)
		b := bound(t, top, "alltoall", 0)
		if b.ReachedBps <= 0 || !atMost(b.ReachedBps, b.AlgbwBps) {
			t.Fatalf("a flow reaches %v, the bound is %v", b.ReachedBps, b.AlgbwBps)
		}
		perm := rapid.Permutation(lists.UpTo(n)).Draw(t, "labels")
		for i, e := range top.Edges {
			top.Edges[i].From, top.Edges[i].To = perm[e.From], perm[e.To]
		}
		got := bound(t, sorted(top), "alltoall", 0)
		if !atMost(got.ReachedBps, b.AlgbwBps) || !atMost(b.ReachedBps, got.AlgbwBps) {
			t.Fatalf("%v to %v with other labels, was %v to %v", got.ReachedBps, got.AlgbwBps, b.ReachedBps, b.AlgbwBps)
		}
		if reaches(b) && reaches(got) {
			met++
		} else {
			apart++
		}
	})
	if met <= 9*apart {
		t.Errorf("flows reach the bounds of %d systems with either labels, of %d not", met, apart)
	}
}
