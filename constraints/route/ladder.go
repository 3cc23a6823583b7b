package route

import (
	"cmp"
	"container/heap"
	"math/big"
)

// rung is a number of rounds for a number of chunks.
type rung struct{ chunks, rounds int }

// compare compares by R/C.
func (r rung) compare(o rung) int {
	return cmp.Compare(int64(r.rounds)*int64(o.chunks), int64(o.rounds)*int64(r.chunks))
}

func (r rung) ratio() *big.Rat { return big.NewRat(int64(r.rounds), int64(r.chunks)) }

// ladder lists what to try in a number of steps by rising R/C, beginning with the
// least possible; of equals, the fewest chunks first.
//
//	from 1/6   (6,1) (12,2) (18,3) …  (17,3) (11,2) (16,3) …
//
// There may be millions of rungs, so it only holds the next one for each number of
// chunks.
type ladder struct {
	next  []rung // a heap
	below *big.Rat
	steps int
	ranks int
}

func (p *problem) ladder(w Walk, steps int, least, below *big.Rat) *ladder {
	l := &ladder{below: below, steps: steps, ranks: p.net.ranks}
	for _, c := range p.chunkCounts(w.Chunks) {
		first := new(big.Int).Mul(least.Num(), big.NewInt(int64(c)))
		first.Add(first, least.Denom()).Sub(first, big.NewInt(1)).Quo(first, least.Denom()) // rounded up
		if r := (rung{c, max(steps, int(first.Int64()))}); l.has(r) {
			l.next = append(l.next, r)
		}
	}
	heap.Init(l)
	return l
}

// has reports whether a rung is one of the ladder.
func (l *ladder) has(r rung) bool {
	if l.below != nil {
		return r.rounds <= maxRound && r.ratio().Cmp(l.below) < 0
	}
	return r.rounds <= min(maxRound, l.steps*(1+r.chunks)*l.ranks)
}

// take returns the next rung, if there is one, and whether it is the last with its
// R/C.
func (l *ladder) take() (r rung, last, ok bool) {
	if len(l.next) == 0 || !l.has(l.next[0]) { // a foothold ends the ladder
		return rung{}, false, false
	}
	r = l.next[0]
	if after := (rung{r.chunks, r.rounds + 1}); l.has(after) {
		l.next[0] = after
		heap.Fix(l, 0)
	} else {
		heap.Pop(l)
	}
	return r, len(l.next) == 0 || l.next[0].compare(r) != 0, true
}

// The methods of heap.Interface.

func (l *ladder) Len() int { return len(l.next) }
func (l *ladder) Less(i, j int) bool {
	return cmp.Or(l.next[i].compare(l.next[j]), l.next[i].chunks-l.next[j].chunks) < 0
}
func (l *ladder) Swap(i, j int) { l.next[i], l.next[j] = l.next[j], l.next[i] }
func (l *ladder) Push(r any)    { l.next = append(l.next, r.(rung)) }
func (l *ladder) Pop() any {
	r := l.next[len(l.next)-1]
	l.next = l.next[:len(l.next)-1]
	return r
}

// known is the set of rungs that were refuted. Others follow from them: more
// chunks in no more rounds are no easier.
type known []rung

func (k known) covers(r rung) bool {
	for _, o := range k {
		if o.chunks <= r.chunks && o.rounds >= r.rounds {
			return true
		}
	}
	return false
}

// add adds a refuted rung, and drops those that follow from it.
func (k *known) add(r rung) {
	if k.covers(r) {
		return
	}
	kept := (*k)[:0]
	for _, o := range *k {
		if r.chunks > o.chunks || r.rounds < o.rounds {
			kept = append(kept, o)
		}
	}
	*k = append(kept, r)
}

// leap lets a walk skip rungs after a query that was not settled, as slightly
// larger ones are no easier. Fewer chunks are easier, and so may be the same R/C
// with as many chunks as possible.
type leap struct {
	rung
	to   *big.Rat // rungs below this R/C are skipped
	wide int64    // size of the leap in eighths of R/C; it doubles each time
}

// from leaps from a rung, farther each time.
func (l *leap) from(r rung) {
	if l.to != nil && r.compare(l.rung) == 0 {
		return // another rung of the same R/C has leapt already
	}
	l.rung, l.wide = r, max(1, 2*l.wide)
	l.to = new(big.Rat).Mul(r.ratio(), big.NewRat(8+l.wide, 8))
}

// over reports whether to skip a rung. last says that it has the most chunks of all
// with its R/C.
func (l *leap) over(r rung, last bool) bool {
	return l.to != nil && r.ratio().Cmp(l.to) < 0 && r.chunks >= l.chunks && !(last && r.compare(l.rung) == 0)
}
