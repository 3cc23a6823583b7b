package sim

import "math"

// Flows are what is on the wire. Flows on one lane with the same unloaded rate
// always go equally fast, so they form a group with one clock. The clock counts
// the bytes that each of them has moved: a flow that starts when it shows v ends
// when it shows v + the flow's bytes. So starting and ending a flow costs work for
// each group that shares an edge, not for each flow.
type flows struct {
	p      *Prepared
	q      *queue
	first  int32 // the queue's id of group 0
	edges  []edgeState
	lanes  []laneState
	groups []group
	dirty  []int32 // edges whose load changed at this instant
	round  int64   // counts flushes: lanes already seen in this one
	// weights of each threadblock's flow on the memories at both ends
	weights [][2]int64
	rates   rates
}

// rates caches results of soft. Where every two ranks are linked, hundreds of
// flows that meet at an edge have the same share of it and the same unloaded rate.
type rates [256]struct{ alone, share, rate float64 }

func (r *rates) soft(alone, share float64) float64 {
	at := &r[(math.Float64bits(alone)*0x9e3779b97f4a7c15^math.Float64bits(share)*0xc2b2ae3d27d4eb4f)>>56]
	if at.alone != alone || at.share != share {
		at.alone, at.share, at.rate = alone, share, soft(alone, share)
	}
	return at.rate
}

type edgeState struct {
	load  [2]int64   // weights of its flows inside the node and outside; one is a whole
	share [2]float64 // what a flow inside, or outside, may go at
	was   [2]float64 // share before this instant
	kept  float64    // of a memory: the most that flows from outside take of it
	dirty bool
	tight bool    // of a memory: it has held up a message
	lanes []int32 // that have flows now
}

type laneState struct {
	flows   int32
	share   float64
	seen    int64
	touched bool
	groups  []int32
	places  []int32 // by edge of the lane: where it stands in the edge's list
}

type group struct {
	lane    int32
	touched bool
	alone   float64 // rate of a flow if nothing else went
	rate    float64
	clock   float64 // bytes moved by a flow that was there from the start
	at      float64 // the time at which clock was right
	ends    []flight
}

// flight is one flow: the clock's reading at its end, and the threadblock that
// sends.
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

// start puts a flow on a lane: work bytes, at the rate alone if unhindered.
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

// group finds the lane's group for an unloaded rate, or adds it.
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

// slack is how many bytes before its end a flow counts as done. It absorbs the
// clocks' rounding, so that flows that end together end in one step.
const slack = 1e-7

// finish ends those flows of a group that are done, and calls done for each.
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

// leave removes a lane without flows from its edges.
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

// flush gives every flow its new rate, once all starts and ends at this instant are known.
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
				continue // its narrowest edge is another one, and has not changed
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

// share returns the least share that the lane's edges give a flow.
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
