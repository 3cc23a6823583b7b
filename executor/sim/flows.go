package sim

import "math"

// Flows are what is on the wire. All flows of a lane with the same unloaded
// rate go equally fast, so they form a group with one clock, counted in the
// bytes that each of them has moved since the group last woke: a flow that
// starts when the clock shows v ends when it shows v + its own bytes. Starting
// and ending flows costs work in the groups that share an edge, not in the
// flows.
type flows struct {
	p      *Prepared
	q      *queue
	first  int32 // the queue's id of group 0
	edges  []edgeState
	lanes  []laneState
	groups []group
	dirty  []int32 // edges whose load changed at this instant
	round  int64   // counts flushes: lanes already seen in this one
	// weights on the memories at both ends, of each threadblock's flow
	weights [][2]int64
	rates   rates
}

// rates remembers what soft said last: flows that meet at an edge, hundreds where
// every two ranks have one, have one share of it and the same rates alone.
type rates [256]struct{ alone, share, rate float64 }

func (r *rates) soft(alone, share float64) float64 {
	at := &r[(math.Float64bits(alone)*0x9e3779b97f4a7c15^math.Float64bits(share)*0xc2b2ae3d27d4eb4f)>>56]
	if at.alone != alone || at.share != share {
		at.alone, at.share, at.rate = alone, share, soft(alone, share)
	}
	return at.rate
}

type edgeState struct {
	load  [2]int64   // weights of its flows inside the node and outside, in parts of one
	share [2]float64 // what a flow of either may go at
	was   [2]float64 // the same before this instant
	kept  float64    // memory: what flows outside take of it at most
	dirty bool
	tight bool    // a memory that has held up a message
	lanes []int32 // that have flows now
}

type laneState struct {
	flows   int32
	share   float64
	seen    int64
	touched bool
	groups  []int32
	places  []int32 // by edge of the lane: its place in the edge's list
}

type group struct {
	lane    int32
	touched bool
	alone   float64 // rate if nothing else went
	rate    float64
	clock   float64 // bytes moved by a flow that was there all the time
	at      float64 // when clock was set
	ends    []flight
}

// flight is one flow: the clock at its end, and the threadblock that sends.
type flight struct {
	end   float64
	block int32
}

func (f flight) before(o flight) bool { return f.end < o.end || f.end == o.end && f.block < o.block }

// reset forgets everything; first is the queue's id for the first group.
func (f *flows) reset(p *Prepared, c *costs, q *queue, first int32) {
	f.p, f.q, f.first = p, q, first
	f.dirty, f.groups, f.round = f.dirty[:0], f.groups[:0], 0
	if len(f.edges) != len(p.edges) {
		f.edges = make([]edgeState, len(p.edges))
	}
	if len(f.lanes) != len(p.lanes) {
		f.lanes = make([]laneState, len(p.lanes))
		for i := range f.lanes {
			f.lanes[i].places = make([]int32, len(p.lanes[i].edges))
		}
	}
	if len(f.weights) != len(p.blocks) {
		f.weights = make([][2]int64, len(p.blocks))
	}
	for i := range f.edges {
		e := &f.edges[i]
		*e = edgeState{share: [2]float64{math.Inf(1), math.Inf(1)}, lanes: e.lanes[:0]}
		if i >= p.links {
			e.kept = p.edges[i].far.over(c)
		}
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		l.flows, l.share, l.seen, l.touched, l.groups = 0, 0, 0, false, l.groups[:0]
	}
}

// start puts a flow on a lane: work bytes, at rate alone when unhindered.
func (f *flows) start(now float64, block, lane int32, work, alone float64) {
	l := &f.lanes[lane]
	if l.flows++; l.flows == 1 {
		for i, e := range f.p.lanes[lane].edges {
			s := &f.edges[e]
			l.places[i] = int32(len(s.lanes))
			s.lanes = append(s.lanes, lane)
		}
	}
	f.weigh(block, lane, 1)
	g := f.group(l, lane, alone)
	if len(g.ends) == 0 {
		g.clock, g.at, g.rate = 0, now, 0
	}
	g.advance(now)
	g.push(flight{g.clock + work, block})
	g.touched, l.touched = true, true
}

// group finds the lane's group of an unloaded rate, or adds it.
func (f *flows) group(l *laneState, lane int32, alone float64) *group {
	for _, i := range l.groups {
		if f.groups[i].alone == alone {
			return &f.groups[i]
		}
	}
	i := len(f.groups)
	if i < cap(f.groups) {
		f.groups = f.groups[:i+1]
		f.groups[i] = group{ends: f.groups[i].ends[:0]}
	} else {
		f.groups = append(f.groups, group{})
	}
	g := &f.groups[i]
	g.lane, g.alone = lane, alone
	l.groups = append(l.groups, int32(i))
	f.q.grow(int(f.first) + i + 1)
	return g
}

// slack is how many bytes before its end a flow counts as done: the rounding
// of clocks, so that flows that end together end as one.
const slack = 1e-7

// finish ends the flows of a group that are done, one call of done each.
func (f *flows) finish(now float64, i int32, done func(block int32)) {
	g := &f.groups[i]
	lane := g.lane
	g.advance(now)
	g.clock = max(g.clock, g.ends[0].end)
	g.touched, f.lanes[lane].touched = true, true
	for limit := g.clock + slack; len(g.ends) > 0 && g.ends[0].end <= limit; {
		block := g.pop().block
		l := &f.lanes[lane]
		if l.flows--; l.flows == 0 {
			f.leave(l, lane)
		}
		f.weigh(block, lane, -1)
		done(block)
		g = &f.groups[i] // done may have added groups
	}
}

// leave takes a lane without flows off its edges.
func (f *flows) leave(l *laneState, lane int32) {
	for i, e := range f.p.lanes[lane].edges {
		s := &f.edges[e]
		last := s.lanes[len(s.lanes)-1]
		s.lanes = s.lanes[:len(s.lanes)-1]
		if last == lane {
			continue
		}
		s.lanes[l.places[i]] = last
		for j, other := range f.p.lanes[last].edges {
			if other == e {
				f.lanes[last].places[j] = l.places[i]
			}
		}
	}
}

// weigh adds a threadblock's flow to the load of its edges, or takes it away:
// one on each link, its weights on the memories.
func (f *flows) weigh(block, lane int32, sign int64) {
	l := &f.p.lanes[lane]
	for _, e := range l.edges[:l.links] {
		f.edges[e].load[inside] += sign * one
		f.mark(e)
	}
	for i, e := range l.edges[l.links:] {
		f.edges[e].load[l.way] += sign * f.weights[block][i]
		f.mark(e)
	}
}

func (f *flows) mark(e int32) {
	if !f.edges[e].dirty {
		f.edges[e].dirty = true
		f.dirty = append(f.dirty, e)
	}
}

// flush gives every flow its new rate, once all that starts and ends at this
// instant is known.
func (f *flows) flush(now float64) {
	f.round++
	for _, e := range f.dirty {
		s := &f.edges[e]
		s.was = s.share
		s.divide(f.p.edges[e].cap)
	}
	for _, e := range f.dirty {
		s := &f.edges[e]
		s.dirty = false
		least := [2]float64{min(s.was[inside], s.share[inside]), min(s.was[outside], s.share[outside])}
		for _, lane := range s.lanes {
			l := &f.lanes[lane]
			if l.share < least[f.p.lanes[lane].way] && !l.touched || l.seen == f.round {
				continue // another edge is the narrow one, as it was
			}
			l.seen = f.round
			share := f.share(lane)
			if share == l.share && !l.touched {
				continue
			}
			moved := share != l.share
			l.share, l.touched = share, false
			for _, i := range l.groups {
				g := &f.groups[i]
				if len(g.ends) == 0 || !moved && !g.touched {
					continue
				}
				g.touched = false
				g.advance(now)
				g.rate = f.rates.soft(g.alone, share)
				f.q.set(f.first+i, now+(g.ends[0].end-g.clock)/g.rate)
			}
		}
	}
	f.dirty = f.dirty[:0]
}

// share is what a flow of the lane may go at: the least of its edges'.
func (f *flows) share(lane int32) float64 {
	l := &f.p.lanes[lane]
	share := math.Inf(1)
	for _, e := range l.edges[:l.links] {
		share = min(share, f.edges[e].share[inside])
	}
	for _, e := range l.edges[l.links:] {
		if s := &f.edges[e]; s.share[l.way] < share {
			share = s.share[l.way]
			s.tight = s.tight || l.links > 0
		}
	}
	return share
}

// advance brings the clock to now.
func (g *group) advance(now float64) {
	if now > g.at {
		g.clock += g.rate * (now - g.at)
		g.at = now
	}
}

func (g *group) push(x flight) {
	g.ends = append(g.ends, x)
	i := len(g.ends) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(g.ends[parent]) {
			break
		}
		g.ends[i] = g.ends[parent]
		i = parent
	}
	g.ends[i] = x
}

func (g *group) pop() flight {
	first := g.ends[0]
	x := g.ends[len(g.ends)-1]
	g.ends = g.ends[:len(g.ends)-1]
	i, n := 0, len(g.ends)
	for n > 0 {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && g.ends[child+1].before(g.ends[child]) {
			child++
		}
		if !g.ends[child].before(x) {
			break
		}
		g.ends[i] = g.ends[child]
		i = child
	}
	if n > 0 {
		g.ends[i] = x
	}
	return first
}
