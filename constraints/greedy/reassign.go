package greedy

// reassign finds a chunk for a rank that has a free link, but whose possible senders were all
// assigned to other ranks at this moment. One of these ranks is then served by another
// sender, recursively: an augmenting path.
func (r *run) reassign(v int32, depth int) bool {
	hops := r.in[v]
	turn := int(hash(r.seed, uint64(v), uint64(depth)) % uint64(len(hops)))
	for i := range hops {
		h := hops[(i+turn)%len(hops)]
		if r.effort--; r.effort < 0 {
			return false
		}
		if r.idle(h) {
			if c := r.choose(h); c != none {
				r.pickChunk(h, c)
				return true
			}
			continue
		}
		at := r.blocker(h)
		if at < 0 || depth == 0 {
			continue
		}
		p := r.picked[at]
		loser := r.hops[p.hop].To
		r.withdraw(at)
		if c := r.choose(h); c != none && r.idle(h) {
			mine := len(r.picked)
			r.pickChunk(h, c)
			if r.reassign(loser, depth-1) {
				return true
			}
			r.withdraw(mine)
			r.picked = r.picked[:mine]
		}
		r.picked[at] = p
		r.markKnown(loser, p.chunk)
		r.occupy(p.hop, at)
	}
	return false
}

// blocker returns the pick of this moment, for another rank, that alone keeps a hop from being
// free, or -1.
func (r *run) blocker(h int32) int {
	at := -1
	for _, e := range r.hops[h].Edges {
		if r.free[e] <= r.now {
			continue
		}
		by := int(r.taker[e])
		if r.takenAt[e] != r.now || by >= len(r.picked) || at >= 0 && at != by {
			return -1
		}
		at = by
	}
	if at < 0 || r.picked[at].chunk == none || r.hops[r.picked[at].hop].To == r.hops[h].To {
		return -1
	}
	return at
}

// withdraw undoes a pick; its slot in the list stays empty.
func (r *run) withdraw(at int) {
	p := r.picked[at]
	r.unmarkKnown(r.hops[p.hop].To, p.chunk)
	r.picked[at].chunk = none
	for _, e := range r.hops[p.hop].Edges {
		r.free[e] = r.now
	}
}
