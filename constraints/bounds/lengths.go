package bounds

import (
	"container/heap"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Assign any length to every link. A pair's part then travels at least its
// distance, whichever path it takes, and a link carries its capacity times its
// length each second. So size over time is at most the sum of capacities times
// lengths, divided by the sum of parts times distances. With length 1 everywhere
// this is a bound on all traffic; with length 1 on the links of a cut and 0
// elsewhere it is the cut's. For the best lengths some routing achieves the bound,
// since they are the dual of multicommodity flow.
//
// The linear program is solved in floating point, and its lengths are then rounded
// to whole numbers. Any lengths prove a bound, so rounding can only make it less
// tight.

// longest is the largest length in whole numbers.
const longest = 1 << 18

// rounded returns whole numbers in the proportions of the lengths: the smallest
// that have them exactly, as far as floats tell.
func rounded(length []float64) []int64 {
	whole := make([]int64, len(length))
	most := slices.Max(length)
	for scale := 1.0; ; scale++ {
		fits := true
		for i, l := range length {
			x := l / most * scale
			whole[i] = int64(math.Round(x))
			if math.Abs(x-math.Round(x)) > 1e-9*scale {
				fits = false
				if scale < longest {
					break
				}
			}
		}
		if fits || scale >= longest {
			return whole
		}
	}
}

// measured is the bound that lengths prove. Links of one orbit have the same
// length, so that ranks of one orbit have the same distances.
func (p *problem) measured(d pairs, part int64, o orbits, length []int64) limit {
	net := p.forward
	w := newWays(net)
	floats := make([]float64, len(length)) // whole numbers, small enough to be added exactly
	wide := new(big.Int)
	for i, a := range net.arcs {
		floats[i] = float64(length[i])
		wide.Add(wide, new(big.Int).Mul(big.NewInt(a.capacity), big.NewInt(length[i])))
	}
	far := int64(0)
	for i, a := range o.sources {
		w.from(a, floats)
		d.to(p.n, a, func(b int, parts int64) { far += o.times[i] * parts * int64(w.far[b]) })
	}
	if far == 0 {
		return limit{} // lengths of 0 prove nothing
	}
	carried := new(big.Rat).SetInt(wide)
	needed := big.NewRat(far, part)
	edges := make([]int64, len(p.t.Edges))
	for i, a := range net.arcs {
		edges[a.edge] = length[i]
	}
	return limit{algbw: new(big.Rat).Quo(carried, needed), lengths: edges,
		proof: fmt.Sprintf("with lengths given to links, the parts' shortest ways come to %s times the size, and links carry %s of length together",
			needed.RatString(), p.rate(carried))}
}

// ways holds shortest paths from one rank (Dijkstra's algorithm).
type ways struct {
	net  *network
	out  [][]int32
	via  []int32 // by vertex: the last arc on its path
	far  []float64
	done []bool
	q    nearest
}

func newWays(net *network) *ways {
	w := &ways{net: net, out: make([][]int32, net.vertices), far: make([]float64, net.vertices), via: make([]int32, net.vertices), done: make([]bool, net.vertices)}
	for i, a := range net.arcs {
		w.out[a.from] = append(w.out[a.from], int32(i))
	}
	return w
}

func (w *ways) from(rank int, length []float64) {
	for v := range w.far {
		w.far[v] = math.Inf(1)
	}
	clear(w.done)
	w.far[rank] = 0
	w.q = append(w.q[:0], reached{vertex: rank})
	for len(w.q) > 0 {
		at := heap.Pop(&w.q).(reached)
		if w.done[at.vertex] {
			continue
		}
		w.done[at.vertex] = true
		for _, i := range w.out[at.vertex] {
			to := w.net.arcs[i].to
			if far := at.us + length[i]; far < w.far[to] {
				w.far[to], w.via[to] = far, i
				heap.Push(&w.q, reached{vertex: int(to), us: far})
			}
		}
	}
}
