package greedy

import (
	"cmp"
	"fmt"
	"slices"
)

// run is one asynchronous try: whenever a link is free, it sends a chunk that its source has
// and that its destination has not been sent.
type run struct {
	*hopGraph
	policy
	wordsPerRow int
	part        float64
	delay       []float64 // by hop: from the start of a chunk to its arrival
	// arrival is when each rank gets each chunk; only patient tries need it.
	arrival []float64

	have     []uint64 // rank by chunk: arrived
	known    []uint64 // by rank and chunk: arrived or under way
	holders  []int32  // by chunk: ranks that know it
	inNode   []int16  // by node and chunk: ranks of the node that know it; nil with a single node
	lacks    []int32  // by rank: the number of chunks that it does not know
	free     []float64
	taker    []int32   // by edge: the last pick that took it
	takenAt  []float64 // by edge: when that was
	now      float64
	effort   int // hops that makeRoom may still examine
	queue    events
	dirty    []bool // by rank: something may be sent to it
	affected []int32
	picked   []pick
	sends    []Send
	busy     []float64
	backing  []int32
}

// pick is a hop with the chunk assigned to it.
type pick struct {
	hop   int32
	chunk int32
}

const none = int32(-1)

func newRun(n *hopGraph, part float64) *run {
	r := &run{hopGraph: n, part: part}
	r.wordsPerRow = (r.ranks + 63) / 64
	r.have = make([]uint64, n.ranks*r.wordsPerRow)
	r.known = make([]uint64, n.ranks*r.wordsPerRow)
	r.holders = make([]int32, r.ranks)
	r.lacks = make([]int32, n.ranks)
	r.free = make([]float64, len(n.t.Edges))
	r.taker, r.takenAt = make([]int32, len(n.t.Edges)), make([]float64, len(n.t.Edges))
	r.dirty = make([]bool, n.ranks)
	r.delay = make([]float64, len(n.hops))
	for h := range n.hops {
		r.busy, r.delay[h] = n.cost(int32(h), part, r.busy[:0])
	}
	if n.t.Nodes > 1 {
		r.inNode = make([]int16, n.t.Nodes*r.ranks)
	}
	return r
}

// asynchronous makes one try. Once that takes longer than most microseconds, it returns no
// messages. The error is the context's, or says that not every rank can be reached.
func (r *run) asynchronous(p policy, most float64) (sends []Send, end float64, err error) {
	r.policy = p
	r.reset()
	r.arrival = nil
	if r.patient {
		r.arrival = make([]float64, r.ranks*r.ranks)
	}
	left := r.ranks * (r.ranks - 1)
	r.sends = make([]Send, 0, left)
	r.backing = make([]int32, left)
	for v := range r.ranks {
		r.markDirty(int32(v))
	}
	for {
		if !r.assign(most) {
			return nil, most, r.ctx.Err()
		}
		if left == 0 {
			break
		}
		if len(r.queue) == 0 && (r.once || r.patient || r.lazy) {
			r.once, r.patient, r.lazy = false, false, false // nothing to wait for
			for v := range r.ranks {
				r.markDirty(int32(v))
			}
			continue
		}
		if len(r.queue) == 0 {
			return nil, 0, fmt.Errorf("greedy routing on %s: not every rank can reach every other", r.t.Name)
		}
		left -= r.advance()
	}
	for _, s := range r.sends {
		end = max(end, s.End)
	}
	return r.sends, end, nil
}

func (r *run) reset() {
	clear(r.have)
	clear(r.known)
	clear(r.free)
	clear(r.inNode)
	for e := range r.takenAt {
		r.takenAt[e] = -1
	}
	r.queue, r.now = r.queue[:0], 0
	for c := range r.holders {
		r.holders[c] = 1
		at := c*r.wordsPerRow + c/64
		r.have[at] |= 1 << (c % 64)
		r.known[at] |= 1 << (c % 64)
		if r.inNode != nil {
			r.inNode[r.t.Ranks[c].Node*r.ranks+c] = 1
		}
	}
	for v := range r.lacks {
		r.lacks[v] = int32(r.ranks - 1)
	}
}

// markDirty records that something may now be sent to a rank.
func (r *run) markDirty(v int32) {
	if !r.dirty[v] && r.lacks[v] > 0 {
		r.dirty[v] = true
		r.affected = append(r.affected, v)
	}
}

// instant is the time, in microseconds, within which events count as simultaneous, because of
// rounding.
const instant = 1e-9

// advance goes to the time of the next event, and returns the number of chunks that arrive.
func (r *run) advance() (arrived int) {
	until := r.queue[0].at + instant
	for len(r.queue) > 0 && r.queue[0].at <= until {
		e := r.queue.pop()
		r.now = max(r.now, e.at)
		hop := &r.hops[e.hop]
		for _, edge := range hop.Edges {
			if r.free[edge] <= e.at {
				for _, h := range r.byEdge[edge] {
					r.markDirty(r.hops[h].To)
				}
			}
		}
		if e.chunk == none {
			continue
		}
		arrived++
		r.have[int(hop.To)*r.wordsPerRow+int(e.chunk)/64] |= 1 << (e.chunk % 64)
		for _, h := range r.out[hop.To] {
			r.markDirty(r.hops[h].To)
		}
	}
	return arrived
}

// assign sends everything that can be sent now, first to the ranks that lack most in relation
// to their rate. It returns false if some rank cannot finish before most.
func (r *run) assign(most float64) bool {
	slices.SortFunc(r.affected, func(a, b int32) int {
		return cmp.Or(
			cmp.Compare(float64(r.lacks[b])/r.inRate[b], float64(r.lacks[a])/r.inRate[a]),
			cmp.Compare(hash(r.seed, uint64(a), uint64(r.lacks[a])), hash(r.seed, uint64(b), uint64(r.lacks[b]))),
			cmp.Compare(a, b))
	})
	if len(r.affected) > 0 {
		if v := r.affected[0]; r.now+float64(r.lacks[v])*r.part/r.inRate[v] >= most {
			for _, v := range r.affected {
				r.dirty[v] = false
			}
			r.affected = r.affected[:0]
			return false
		}
	}
	r.picked = r.picked[:0]
	for _, v := range r.affected {
		if r.ctx.Err() != nil {
			return false
		}
		r.dirty[v] = false
		r.serve(v)
	}
	if !r.disjoint {
		for _, v := range r.affected {
			if r.ctx.Err() != nil {
				return false
			}
			for r.effort = maxReassignWork; r.lacks[v] > 0 && r.canReceive(v) && r.reassign(v, maxReassignDepth); {
			}
		}
	}
	for _, p := range r.picked {
		if p.chunk != none {
			r.send(p)
		}
	}
	r.affected = r.affected[:0]
	return true
}

// maxReassignDepth is the number of other ranks on an augmenting path of reassign, and
// maxReassignWork the number of hops that it examines.
const (
	maxReassignDepth = 3
	maxReassignWork  = 128
)

// canReceive reports whether some edge into a rank is free.
func (r *run) canReceive(v int32) bool {
	for _, e := range r.lastEdges[v] {
		if r.free[e] <= r.now {
			return true
		}
	}
	return false
}

// serve assigns a chunk to every free hop into a rank. If another hop took the only chunk for a
// hop and has an alternative, they swap.
func (r *run) serve(v int32) {
	if !r.canReceive(v) {
		return
	}
	first := len(r.picked)
	hops := r.in[v]
	turn := 0
	if !r.disjoint {
		turn = int(hash(r.seed, uint64(v), uint64(r.lacks[v])) % uint64(len(hops)))
	}
	for i := range hops {
		h := hops[(i+turn)%len(hops)]
		if !r.idle(h) || r.lazy && r.sitsOut(h) || r.patient && r.othersSuffice(h) {
			continue
		}
		if c := r.choose(h); c != none {
			r.pickChunk(h, c)
			continue
		}
		if r.once && r.hops[h].Net {
			continue
		}
		for j := first; j < len(r.picked); j++ {
			p := &r.picked[j]
			if p.chunk == none || !r.has(r.hops[h].From, p.chunk) {
				continue
			}
			if other := r.choose(p.hop); other != none {
				c := p.chunk
				p.chunk = other
				r.markKnown(v, other)
				r.unmarkKnown(v, c)
				r.pickChunk(h, c)
				break
			}
		}
	}
}

// pickChunk assigns a chunk to a hop, from now on.
func (r *run) pickChunk(h, c int32) {
	r.markKnown(r.hops[h].To, c)
	r.picked = append(r.picked, pick{h, c})
	r.occupy(h, len(r.picked)-1)
}

func (r *run) has(rank, chunk int32) bool {
	return r.have[int(rank)*r.wordsPerRow+int(chunk)/64]>>(chunk%64)&1 == 1
}

func (r *run) markKnown(v, c int32) {
	r.known[int(v)*r.wordsPerRow+int(c)/64] |= 1 << (c % 64)
	r.lacks[v]--
	r.holders[c]++
	if r.inNode != nil {
		r.inNode[r.t.Ranks[v].Node*r.ranks+int(c)]++
	}
}

// unmarkKnown undoes markKnown.
func (r *run) unmarkKnown(v, c int32) {
	r.known[int(v)*r.wordsPerRow+int(c)/64] &^= 1 << (c % 64)
	r.lacks[v]++
	r.holders[c]--
	if r.inNode != nil {
		r.inNode[r.t.Ranks[v].Node*r.ranks+int(c)]--
	}
}

// occupy marks a hop's edges as busy from now on, with a pick.
func (r *run) occupy(h int32, pick int) {
	r.busy, _ = r.cost(h, r.part, r.busy[:0])
	for i, e := range r.hops[h].Edges {
		r.free[e] = r.now + r.busy[i]
		r.taker[e], r.takenAt[e] = int32(pick), r.now
	}
}

// send sends a picked chunk now.
func (r *run) send(p pick) {
	hop := &r.hops[p.hop]
	arrive := r.now + r.delay[p.hop]
	for _, e := range hop.Edges {
		if r.free[e] != arrive {
			r.queue.push(event{r.free[e], p.hop, none})
		}
	}
	r.queue.push(event{arrive, p.hop, p.chunk})
	if r.arrival != nil {
		r.arrival[int(hop.To)*r.ranks+int(p.chunk)] = arrive
	}
	at := len(r.sends)
	r.backing[at] = p.chunk
	r.sends = append(r.sends, Send{From: hop.From, To: hop.To, Chunks: r.backing[at : at+1 : at+1], Start: r.now, End: arrive})
}
