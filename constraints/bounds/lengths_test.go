package bounds

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/topologies"
)

// TestLengthsProve computes the bound again from the lengths alone, with
// distances by Floyd and Warshall.
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

// TestLengthsBeatCuts takes the smallest graph known to have wider cuts than
// flows: two ranks on one side, three on the other, a link between every two of
// different sides. Distances come to 12·1 + (2+6)·2 = 28 over 12 links.
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

// TestSimplex solves programs whose answers are known.
func TestSimplex(t *testing.T) {
	p := newProgram(3, 2)
	p.gain(0)
	p.gain(1)
	for r, row := range [][3]float64{{2, 1, 4}, {1, 3, 6}, {0, 1, 0.5}} {
		p.set(r, 0, row[0])
		p.set(r, 1, row[1])
		p.limit(r, row[2])
	}
	// x = 7/4, y = 1/2: rows 0 and 2 bind, at a half each.
	if !p.solve(math.Inf(1)) || math.Abs(p.price(0)-0.5) > 1e-12 || p.price(1) != 0 || math.Abs(p.price(2)-0.5) > 1e-12 {
		t.Errorf("prices %v %v %v, want 1/2 0 1/2", p.price(0), p.price(1), p.price(2))
	}
	if p.solve(2) {
		t.Error("a gain of 9/4 is enough where 2 is")
	}
	open := newProgram(1, 1)
	open.gain(0)
	open.set(0, 0, -1)
	if open.solve(math.Inf(1)) {
		t.Error("a gain without limit was solved")
	}
}
