package route

import (
	"cmp"
	"container/heap"
	"math/big"
)

// rung is a number of rounds for a number of chunks.
type rung struct{ chunks, rounds int }

// compare is by R/C.
func (r rung) compare(o rung) int {
	return cmp.Compare(int64(r.rounds)*int64(o.chunks), int64(o.rounds)*int64(r.chunks))
}

func (r rung) ratio() *big.Rat { return big.NewRat(int64(r.rounds), int64(r.chunks)) }

// ladder lists what to try in so many steps, by rising R/C from the least there
// can be; of equals, the fewest chunks first.
//
//	from 1/6   (6,1) (12,2) (18,3) …  (17,3) (11,2) (16,3) …
//
// There may be millions: it holds the next one of each number of chunks.
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

// has tells whether a rung is one to try.
func (l *ladder) has(r rung) bool {
	if l.below != nil {
		return r.rounds <= maxRound && r.ratio().Cmp(l.below) < 0
	}
	return r.rounds <= min(maxRound, l.steps*(1+r.chunks)*l.ranks)
}

// take is the next rung, and whether it is the last with its R/C; false where there
// is none.
func (l *ladder) take() (r rung, last, ok bool) {
	if len(l.next) == 0 {
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

// The ladder is a heap of what is next.

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

// known are the rungs that were refuted, of which others follow: more chunks, in no
// more rounds, are no easier.
type known []rung

func (k known) covers(r rung) bool {
	for _, o := range k {
		if o.chunks <= r.chunks && o.rounds >= r.rounds {
			return true
		}
	}
	return false
}

// add keeps a rung that was refuted, in place of those that follow from it.
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

// leap is how far a walk goes on from a query that was not settled: what is a
// little larger is no easier. What has fewer chunks is, and the same R/C with as
// many chunks as can be may be.
type leap struct {
	rung
	to   *big.Rat // R/C below which nothing is asked
	wide int64    // in eighths of R/C, doubled each time
}

// from leaps from a rung, each time farther.
func (l *leap) from(r rung) {
	if l.to != nil && r.compare(l.rung) == 0 {
		return // its like has leapt
	}
	l.rung, l.wide = r, max(1, 2*l.wide)
	l.to = new(big.Rat).Mul(r.ratio(), big.NewRat(8+l.wide, 8))
}

// over tells whether a rung is leapt over; last, whether it is the one of most
// chunks with its R/C.
func (l *leap) over(r rung, last bool) bool {
	return l.to != nil && r.ratio().Cmp(l.to) < 0 && r.chunks >= l.chunks && !(last && r.compare(l.rung) == 0)
}
