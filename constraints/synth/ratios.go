package synth

import (
	"cmp"
	"container/heap"
	"math/big"
	"slices"
)

type rcRatio struct{ chunks, rounds int }

// compare compares two ratios by R/C.
func (r rcRatio) compare(o rcRatio) int {
	return cmp.Compare(int64(r.rounds)*int64(o.chunks), int64(o.rounds)*int64(r.chunks))
}

func (r rcRatio) rat() *big.Rat { return big.NewRat(int64(r.rounds), int64(r.chunks)) }

// ratioQueue yields the ratios to try in a number of steps by rising R/C, beginning with
// the least possible; of equals, the fewest chunks first.
//
//	from 1/6   (6,1) (12,2) (18,3) …  (17,3) (11,2) (16,3) …
//
// There may be millions, so it only holds the next one for each number of chunks.
type ratioQueue struct {
	heap  []rcRatio // a heap
	below *big.Rat
	steps int
	ranks int
}

func (p *problem) ratioQueue(w FrontierOptions, steps int, least, below *big.Rat) *ratioQueue {
	l := &ratioQueue{below: below, steps: steps, ranks: p.net.ranks}
	for _, c := range p.chunkCounts(w.Chunks) {
		first := new(big.Int).Mul(least.Num(), big.NewInt(int64(c)))
		first.Add(first, least.Denom()).Sub(first, big.NewInt(1)).Quo(first, least.Denom()) // rounded up
		if r := (rcRatio{c, max(steps, int(first.Int64()))}); l.contains(r) {
			l.heap = append(l.heap, r)
		}
	}
	heap.Init(l)
	return l
}

func (l *ratioQueue) contains(r rcRatio) bool {
	if l.below != nil {
		return r.rounds <= maxRound && r.rat().Cmp(l.below) < 0
	}
	return r.rounds <= min(maxRound, l.steps*(1+r.chunks)*l.ranks)
}

// next returns the next ratio, if there is one. last means that it is the last with its
// R/C.
func (l *ratioQueue) next() (r rcRatio, last, ok bool) {
	if len(l.heap) == 0 {
		return rcRatio{}, false, false
	}
	r = l.heap[0]
	if after := (rcRatio{r.chunks, r.rounds + 1}); l.contains(after) {
		l.heap[0] = after
		heap.Fix(l, 0)
	} else {
		heap.Pop(l)
	}
	return r, len(l.heap) == 0 || l.heap[0].compare(r) != 0, true
}

// The methods of heap.Interface.

func (l *ratioQueue) Len() int { return len(l.heap) }
func (l *ratioQueue) Less(i, j int) bool {
	return cmp.Or(l.heap[i].compare(l.heap[j]), l.heap[i].chunks-l.heap[j].chunks) < 0
}
func (l *ratioQueue) Swap(i, j int) { l.heap[i], l.heap[j] = l.heap[j], l.heap[i] }
func (l *ratioQueue) Push(r any)    { l.heap = append(l.heap, r.(rcRatio)) }
func (l *ratioQueue) Pop() any {
	r := l.heap[len(l.heap)-1]
	l.heap = l.heap[:len(l.heap)-1]
	return r
}

// refutedSet is the ratios that were refuted. They imply others: more chunks in no more
// rounds are no easier.
type refutedSet []rcRatio

func (k refutedSet) covers(r rcRatio) bool {
	return slices.ContainsFunc(k, func(o rcRatio) bool { return o.chunks <= r.chunks && o.rounds >= r.rounds })
}

// add adds a refuted ratio, and drops those that it implies.
func (k *refutedSet) add(r rcRatio) {
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

// ratioSkip decides which ratios to skip after a query that was not settled, because
// slightly larger ones are hardly easier. Fewer chunks are easier, and so may be the same
// R/C with as many chunks as possible.
type ratioSkip struct {
	rcRatio
	to      *big.Rat // ratios below this R/C are skipped
	eighths int64    // size of the skip in eighths of R/C; it doubles each time
}

// widen extends the skip from a ratio that was not settled, farther each time.
func (l *ratioSkip) widen(r rcRatio) {
	if l.to != nil && r.compare(l.rcRatio) == 0 {
		return // extended already by another ratio of the same R/C
	}
	l.rcRatio, l.eighths = r, max(1, 2*l.eighths)
	l.to = new(big.Rat).Mul(r.rat(), big.NewRat(8+l.eighths, 8))
}

// skips reports whether to skip a ratio. last means that it has the most chunks of all with
// its R/C.
func (l *ratioSkip) skips(r rcRatio, last bool) bool {
	return l.to != nil && r.rat().Cmp(l.to) < 0 && r.chunks >= l.chunks && !(last && r.compare(l.rcRatio) == 0)
}
