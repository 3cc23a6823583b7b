package bounds

import (
	"container/heap"
	"fmt"
	"math"
	"math/big"
)

// Assign any length to every link. A pair's part then travels at least its distance,
// on whichever path, and a link carries its capacity times its length each second. So
// size over time is at most the sum of capacities times lengths, divided by the sum of
// parts times distances. With length 1 everywhere this is hopBound; with length 1 on the
// links of a cut and 0 elsewhere it is the cut's bound. The best lengths are the dual
// solution of the multicommodity flow problem, so some flow achieves their bound.
//
// The linear program is solved in floating point, and its lengths are rounded to whole
// numbers. Any lengths prove a bound, so rounding can only make it less tight.

// maxLength is the largest length in whole numbers.
const maxLength = 1 << 18

// lengthBound is the bound that lengths prove. Links of an orbit must have the same
// length, so that ranks of an orbit have the same distances.
func (p *problem) lengthBound(d demand, part int64, o orbits, length []int64) bandwidthBound {
	net := p.forward
	w := newShortestPaths(net)
	floats := make([]float64, len(length)) // whole numbers, small enough to be added exactly
	wide := new(big.Int)
	for i, a := range net.Arcs {
		floats[i] = float64(length[i])
		wide.Add(wide, new(big.Int).Mul(big.NewInt(a.Capacity), big.NewInt(length[i])))
	}
	far := int64(0)
	for i, a := range o.sources {
		w.from(a, floats)
		d.to(p.n, a, func(b int, parts int64) { far += o.times[i] * parts * int64(w.dist[b]) })
	}
	if far == 0 {
		return bandwidthBound{} // lengths of 0 prove nothing
	}
	carried := new(big.Rat).SetInt(wide)
	needed := big.NewRat(far, part)
	edges := make([]int64, len(p.t.Edges))
	for i, a := range net.Arcs {
		edges[a.Edge] = length[i]
	}
	return bandwidthBound{algbw: new(big.Rat).Quo(carried, needed), lengths: edges,
		proof: fmt.Sprintf("with lengths given to links, the parts' shortest ways come to %s times the size, and links carry %s of length together",
			needed.RatString(), p.formatRate(carried))}
}

// shortestPaths holds the shortest paths from one rank (Dijkstra's algorithm).
type shortestPaths struct {
	net  *scaledNetwork
	out  [][]int32
	via  []int32 // by vertex: the last arc on its path
	dist []float64
	done []bool
	q    distanceHeap
}

func newShortestPaths(net *scaledNetwork) *shortestPaths {
	w := &shortestPaths{net: net, out: make([][]int32, net.Vertices), dist: make([]float64, net.Vertices), via: make([]int32, net.Vertices), done: make([]bool, net.Vertices)}
	for i, a := range net.Arcs {
		w.out[a.From] = append(w.out[a.From], int32(i))
	}
	return w
}

func (w *shortestPaths) from(rank int, length []float64) {
	for v := range w.dist {
		w.dist[v] = math.Inf(1)
	}
	clear(w.done)
	w.dist[rank] = 0
	w.q = append(w.q[:0], vertexDistance{vertex: rank})
	for len(w.q) > 0 {
		at := heap.Pop(&w.q).(vertexDistance)
		if w.done[at.vertex] {
			continue
		}
		w.done[at.vertex] = true
		for _, i := range w.out[at.vertex] {
			to := w.net.Arcs[i].To
			if far := at.dist + length[i]; far < w.dist[to] {
				w.dist[to], w.via[to] = far, i
				heap.Push(&w.q, vertexDistance{vertex: int(to), dist: far})
			}
		}
	}
}
