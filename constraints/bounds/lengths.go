package bounds

import (
	"container/heap"
	"fmt"
	"math"
	"math/big"
)

// Give every link a length, any. A pair's part passes links of its distance at
// least, whatever way it takes, and a link carries its capacity times its length
// a second; so the size over time is at most all capacities times lengths, over
// all parts times distances. Length 1 everywhere is a bound on all traffic,
// length 1 on the links of a cut is the cut's; and for the best lengths there is
// a routing that reaches the bound: the dual of multicommodity flow.
//
// They are looked for by sending all pairs along shortest ways again and again,
// each time making longer what was loaded most (multiplicative weights, Garg and
// Könemann 1998). Whatever is found proves a bound, so floats may search; the
// bound itself is of whole lengths, in whole numbers.

const (
	// manySteps is how many steps of Dijkstra's algorithm a search may take.
	manySteps = 1 << 24
	// rounds is how many times lengths change.
	rounds = 400
	// coarse and fine are the largest whole lengths tried: small ones first, as
	// best lengths are often such, and are easier to read.
	coarse, fine = 24, 1 << 12
)

// lengths bounds what pairs can send by the best lengths found; its algbw is nil
// where the system is too large to look.
func (p *problem) lengths(d pairs, part int64) (best limit) {
	net := p.forward
	steps := p.n * (len(net.arcs) + net.vertices)
	if steps*8 > manySteps {
		return best
	}
	w := newWays(net)
	length := make([]float64, len(net.arcs))
	for i, a := range net.arcs {
		length[i] = 1 / float64(a.capacity)
	}
	load := make([]float64, len(net.arcs))
	found, least := []float64(nil), math.Inf(1)
	for round := range min(rounds, manySteps/steps) {
		clear(load)
		far, wide, top := 0.0, 0.0, 0.0
		for a := range p.n {
			w.from(a, length)
			d.to(p.n, a, func(b int) {
				far += w.far[b]
				for v := int32(b); v != int32(a); v = net.arcs[w.via[v]].from {
					load[w.via[v]]++
				}
			})
		}
		for i, a := range net.arcs {
			wide += float64(a.capacity) * length[i]
			load[i] /= float64(a.capacity)
			top = max(top, load[i])
		}
		if wide/far < least {
			least = wide / far
			found = append(found[:0], length...)
		}
		pace := 0.5 / math.Sqrt(1+float64(round)/4)
		for i := range length {
			length[i] *= math.Exp(pace * load[i] / top)
			length[i] /= wide
		}
	}
	longest := 0.0
	for _, l := range found {
		longest = max(longest, l)
	}
	whole := make([]int64, len(net.arcs))
	try := func(scale float64) {
		some := false
		for i, l := range found {
			whole[i] = int64(math.Round(l / longest * scale))
			some = some || whole[i] > 0
		}
		if l := p.measured(d, part, whole); some && l.algbw != nil {
			best.least(l)
		}
	}
	for scale := 1.0; scale <= coarse; scale++ {
		try(scale)
	}
	// Long fractions only where they tell more.
	if got, _ := best.algbw.Float64(); got > least*float64(part)*(1+1e-3) {
		try(fine)
	}
	return best
}

// measured is the bound that lengths prove.
func (p *problem) measured(d pairs, part int64, length []int64) limit {
	net := p.forward
	w := newWays(net)
	floats := make([]float64, len(length)) // whole, and small enough to add exactly
	wide := new(big.Int)
	for i, a := range net.arcs {
		floats[i] = float64(length[i])
		wide.Add(wide, new(big.Int).Mul(big.NewInt(a.capacity), big.NewInt(length[i])))
	}
	far := int64(0)
	for a := range p.n {
		w.from(a, floats)
		d.to(p.n, a, func(b int) { far += int64(w.far[b]) })
	}
	if far == 0 {
		return limit{}
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
	far  []float64
	via  []int32 // the last arc
	done []bool
	q    nearest
}

func newWays(net *network) *ways {
	w := &ways{net: net, out: make([][]int32, net.vertices), far: make([]float64, net.vertices),
		via: make([]int32, net.vertices), done: make([]bool, net.vertices)}
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
