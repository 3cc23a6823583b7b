package bounds

import (
	"fmt"
	"math/big"

	"github.com/colltune/colltune/compiler/collective"
)

// maxOutputs limits the output chunks that are examined one by one.
const maxOutputs = 1 << 22

// needs is the data that each rank needs by the collective's postcondition, chunk by
// chunk. It serves collectives with counts or a custom table, which have no closed form.
type needs struct {
	in   []int64        // by rank: chunks that must enter it, at least
	out  []int64        // by rank: chunks of its own that must leave it, at least
	from []map[int]bool // by rank: the ranks whose data must reach it
}

// needsOf examines all outputs. It returns nil if there are more than maxOutputs.
func needsOf(c collective.Collective) *needs {
	total := 0
	for r := range c.Ranks {
		if total += c.OutChunks(r); total > maxOutputs {
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
		k.in[r] = int64(max(len(inputs), len(sums)))
		for p := range inputs {
			if !left[p] {
				left[p] = true
				k.out[p.Rank]++
			}
		}
		delete(k.from[r], r)
	}
	return k
}

// perRankBound bounds a collective by the data that must enter and leave each rank,
// against the capacity of its links.
func (p *problem) perRankBound(k *needs) (best bandwidthBound) {
	into, out := make([]int64, p.n), make([]int64, p.n)
	for _, a := range p.forward.Arcs {
		if a.To < p.n {
			into[a.To] += a.Capacity
		}
		if a.From < p.n {
			out[a.From] += a.Capacity
		}
	}
	loop := int64(p.c.LoopChunks())
	for r := range p.n {
		for _, way := range [...]struct {
			chunks, capacity int64
			cut              []int
		}{{k.in[r], into[r], allBut(p.n, r)}, {k.out[r], out[r], []int{r}}} {
			if way.chunks == 0 {
				continue
			}
			best.tighten(bandwidthBound{algbw: new(big.Rat).Mul(big.NewRat(way.capacity, way.chunks), big.NewRat(loop, 1)), cut: way.cut,
				proof: fmt.Sprintf("%s must leave %s, through %s", formatShare(big.NewRat(way.chunks, loop)), formatRanks(way.cut), p.formatRate(big.NewRat(way.capacity, 1)))})
		}
	}
	return best
}

func (p *problem) needsLatency(k *needs) (steps int, us float64) {
	to := make([][]int, p.n) // by source
	for b := range k.from {
		for a := range k.from[b] {
			to[a] = append(to[a], b)
		}
	}
	w := newLatencySearch(p, false)
	for a, targets := range to {
		if len(targets) == 0 {
			continue
		}
		if p.ended() {
			break
		}
		w.from(a, targets)
		for _, b := range targets {
			steps, us = max(steps, int(w.hops[b])), max(us, w.latency[b])
		}
	}
	return steps, us
}
