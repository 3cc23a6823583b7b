package sim

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/topologies"
)

// After any starts and ends, each lane has the least share of its edges, and no edge could
// become its narrowest without the lane being found.
func TestSharesAreTheLeastOfTheEdges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := randomSystem(rt, t)
		p, err := PrepareUnfolded(randomProgram(rt, len(top.Ranks)), top)
		if err != nil {
			rt.Fatal(err)
		}
		c, err := p.costs(Knobs{Bytes: 1 << 20, Protocol: topologies.LL})
		if err != nil {
			rt.Fatal(err)
		}
		if len(p.lanes) == 0 {
			return
		}
		var q queue
		q.reset(len(p.blocks))
		var f flows
		f.reset(p, c, &q, int32(len(p.blocks)))
		idle := make([]bool, len(p.blocks)) // a threadblock has at most one flow
		for i := range idle {
			idle[i] = true
		}
		now := 0.0
		for range rapid.IntRange(1, 40).Draw(rt, "instants") {
			for range rapid.IntRange(0, 3).Draw(rt, "starts") {
				block := rapid.IntRange(0, len(p.blocks)-1).Draw(rt, "block")
				if !idle[block] {
					continue
				}
				idle[block] = false
				lane := rapid.IntRange(0, len(p.lanes)-1).Draw(rt, "lane")
				f.weights[block] = [2]int64{one, 2 * one}
				work := rapid.Float64Range(1, 1e6).Draw(rt, "bytes")
				f.start(now, int32(block), int32(lane), work, rapid.SampledFrom([]float64{100, 1e4, 1e9}).Draw(rt, "alone"))
			}
			f.flush(now)
			checkShares(rt, &f)
			for len(q.heap) > 0 && (q.heap[0].time <= now || rapid.Bool().Draw(rt, "go on")) {
				now = max(now, q.heap[0].time)
				f.finish(now, q.pop().id-f.first, func(block int32) { idle[block] = true })
				f.flush(now)
				checkShares(rt, &f)
			}
		}
	})
}

func checkShares(t *rapid.T, f *flows) {
	for i := range f.lanes {
		l, of := &f.lanes[i], &f.p.lanes[i]
		if l.flows == 0 {
			continue
		}
		least := math.Inf(1)
		for _, e := range of.edges {
			least = min(least, f.edges[e].share[of.way])
		}
		if l.share != least {
			t.Fatalf("lane %d has a share of %v, its edges give %v", i, l.share, least)
		}
		for j, e := range of.edges {
			heap, at := f.edges[e].lanes[of.way], l.places[j].at
			x := heap[at]
			if x.lane != int32(i) || x.nth != int32(j) || x.key != l.places[j].key {
				t.Fatalf("lane %d, edge %d: entry %+v at its place %+v", i, e, x, l.places[j])
			}
			if x.key < l.key(int32(j)) || at > 0 && heap[(at-1)/4].key < x.key {
				t.Fatalf("lane %d, edge %d: key %v, below it %v, its share %v", i, e, x.key, heap[(at-1)/4].key, l.share)
			}
			if j == int(l.narrow) && f.edges[e].share[of.way] != least {
				t.Fatalf("lane %d: edge %d is narrowest with %v, another has %v", i, e, f.edges[e].share[of.way], least)
			}
		}
	}
}
