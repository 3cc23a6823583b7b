package bounds

import (
	"fmt"
	"math/big"

	"github.com/colltune/colltune/compiler/collective"
)

// maxWanted limits how many chunks of output are examined one by one.
const maxWanted = 1 << 22

// needs is what each rank needs by the collective's postcondition, chunk by chunk.
// It serves collectives with counts or a table of their own, for which there are
// no closed forms.
type needs struct {
	comes []int64        // by rank: chunks that must enter it, at least
	goes  []int64        // by rank: chunks of its own that must leave it, at least
	from  []map[int]bool // by rank: the ranks whose data must reach it
}

// neededBy examines all outputs. It returns nil if there are too many.
func neededBy(c collective.Collective) *needs {
	total := 0
	for r := range c.Ranks {
		if total += c.OutChunks(r); total > maxWanted {
			return nil
		}
	}
	k := &needs{make([]int64, c.Ranks), make([]int64, c.Ranks), make([]map[int]bool, c.Ranks)}
	left := map[collective.Place]bool{} // input chunks that another rank wants
	for r := range c.Ranks {
		k.from[r] = map[int]bool{}
		inputs, sums := map[collective.Place]bool{}, map[int]bool{}
		for i := range c.OutChunks(r) {
			switch w := c.Want(r, i); w.Kind {
			case collective.WantInput:
				if w.Rank != r {
					inputs[collective.Place{Rank: w.Rank, Index: w.Index}] = true
					k.from[r][w.Rank] = true
				}
			case collective.WantReduction:
				sums[w.Index] = true
				for a := range c.Ranks {
					k.from[r][a] = true
				}
			case collective.WantSum:
				for _, p := range w.Of {
					k.from[r][p.Rank] = true
				}
			}
		}
		// A sum may be computable from inputs that are needed anyway, so only the
		// larger of the two numbers is certain.
		k.comes[r] = int64(max(len(inputs), len(sums)))
		for p := range inputs {
			if !left[p] {
				left[p] = true
				k.goes[p.Rank]++
			}
		}
		delete(k.from[r], r)
	}
	return k
}

// wanted bounds a collective by each rank's own links: by what must enter it, and
// what must leave it.
func (p *problem) wanted(k *needs) (best limit) {
	into, out := make([]int64, p.n), make([]int64, p.n)
	for _, a := range p.forward.arcs {
		if int(a.to) < p.n {
			into[a.to] += a.capacity
		}
		if int(a.from) < p.n {
			out[a.from] += a.capacity
		}
	}
	loop := int64(p.c.LoopChunks())
	for r := range p.n {
		for _, way := range [...]struct {
			chunks, capacity int64
			cut              []int
		}{{k.comes[r], into[r], but(p.n, r)}, {k.goes[r], out[r], []int{r}}} {
			if way.chunks == 0 {
				continue
			}
			best.least(limit{algbw: new(big.Rat).Mul(big.NewRat(way.capacity, way.chunks), big.NewRat(loop, 1)), cut: way.cut,
				proof: fmt.Sprintf("%s must leave %s, through %s", ofSize(big.NewRat(way.chunks, loop)), ranks(way.cut), p.rate(big.NewRat(way.capacity, 1)))})
		}
	}
	return best
}

// wantedLatency is latency for explicit needs.
func (p *problem) wantedLatency(k *needs) (steps int, us float64) {
	to := make([][]int, p.n) // by source
	for b := range k.from {
		for a := range k.from[b] {
			to[a] = append(to[a], b)
		}
	}
	w := newWalk(p, false)
	for a, targets := range to {
		if len(targets) == 0 {
			continue
		}
		p.look()
		w.from(a, targets)
		for _, b := range targets {
			steps, us = max(steps, int(w.hops[b])), max(us, w.far[b])
		}
	}
	return steps, us
}
