package bounds

import (
	"container/heap"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Give every link a length, any. A pair's part passes links of its distance at
// least, whatever way it takes, and a link carries its capacity times its length
// a second; so the size over time is at most all capacities times lengths, over
// all parts times distances. Length 1 everywhere is a bound on all traffic,
// length 1 on the links of a cut is the cut's; and for the best lengths there is
// a routing that reaches the bound: they are the dual of multicommodity flow.
//
// The linear program is solved in floats, and only its lengths are taken, as
// whole numbers: any prove a bound, so that what rounding does can cost
// tightness, never truth.

// longest is the largest whole length.
const longest = 1 << 18

// rounded are whole numbers in the proportions of some lengths: the smallest
// that are so exactly, as far as floats tell.
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

// measured is the bound that lengths prove. They are alike for all links of an
// orbit, so that the ranks of one have the same distances to go.
func (p *problem) measured(d pairs, part int64, o orbits, length []int64) limit {
	net := p.forward
	w := newWays(net)
	floats := make([]float64, len(length)) // whole, and small enough to add exactly
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
		return limit{} // no length leads to no bound
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

// ways are shortest ways from one rank, by Dijkstra's algorithm.
type ways struct {
	net  *network
	out  [][]int32
	via  []int32 // the last arc on the way
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
