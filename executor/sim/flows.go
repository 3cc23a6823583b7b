package sim

import "math"

// Flows are what is on the wire. Flows on one lane with the same unloaded rate
// always go equally fast, so they form a group with one clock. The clock counts
// the bytes that each of them has moved: a flow that starts when it shows v ends
// when it shows v + the flow's bytes.
//
// Starting or ending a flow changes the shares of its edges. That concerns the lanes whose
// narrowest edge was or becomes one of these: the others are passed over without a look,
// since each edge keeps its lanes in a heap by share.
type flows struct {
	p      *Prepared
	q      *queue
	first  int32 // the queue's id of group 0
	edges  []edgeState
	lanes  []laneState
	groups []group
	dirty  []int32 // edges whose load changed at this instant
	moved  []int32 // lanes on which a flow started or ended at this instant
	above  []seat  // scratch: of an edge, those that its change may concern
	at     []int32 // scratch: where they stand in its heap
	round  int64   // counts flushes: lanes already seen in this one
	// weights of each threadblock's flow on the memories at both ends
	weights [][2]int64
	rates   rates
	watch   *tracer // told of new rates; nil unless there is a trace
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
	tight bool      // of a memory: it has held up a message
	lanes [2][]seat // its lanes inside the node and outside, each a heap with the greatest key first
}

// seat is a lane's entry in the heap of one of its edges. Its key is at least the lane's
// share on the lane's narrowest edge, and at least the next smaller number on the others: a
// change of an edge concerns the lanes with keys of at least its share before or after,
// whichever is less. A key is raised with the share, and lowered only when the entry is
// visited, so that an edge that never holds up its lanes costs them nothing.
type seat struct {
	key  float64
	lane int32
	nth  int32 // the edge is the lane's nth
}

type laneState struct {
	flows   int32
	narrow  int32 // its narrowest edge, by number in the lane; of several, any
	share   float64
	seen    int64
	touched bool
	groups  []int32
	places  []place // by edge of the lane
}

// place is where a lane stands in the heap of one of its edges, and its key there.
type place struct {
	key float64
	at  int32
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
	f.dirty, f.moved, f.groups, f.round = f.dirty[:0], f.moved[:0], f.groups[:0], 0
	if len(f.edges) != len(p.edges) {
		f.edges = make([]edgeState, len(p.edges))
	}
	if len(f.lanes) != len(p.lanes) {
		f.lanes = make([]laneState, len(p.lanes))
		f.seat()
	}
	if len(f.weights) != len(p.blocks) {
		f.weights = make([][2]int64, len(p.blocks))
	}
	for i := range f.edges {
		e := &f.edges[i]
		*e = edgeState{share: [2]float64{math.Inf(1), math.Inf(1)}, lanes: e.lanes}
		if i >= p.links {
			e.kept = p.edges[i].far.over(c)
		}
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		l.flows, l.share, l.seen, l.touched, l.groups = 0, 0, 0, false, l.groups[:0]
		for j := range l.places {
			at := &l.places[j]
			at.key = 0
			f.edges[p.lanes[i].edges[j]].lanes[p.lanes[i].way][at.at].key = 0
		}
	}
}

// seat puts every lane into the heaps of its edges.
func (f *flows) seat() {
	counts := make([][2]int, len(f.edges))
	total := 0
	for _, l := range f.p.lanes {
		for _, e := range l.edges {
			counts[e][l.way]++
		}
		total += len(l.edges)
	}
	seats, places := make([]seat, total), make([]place, total)
	for e := range f.edges {
		for way, n := range counts[e] {
			f.edges[e].lanes[way], seats = seats[:0:n], seats[n:]
		}
	}
	for i := range f.lanes {
		l := &f.p.lanes[i]
		n := len(l.edges)
		f.lanes[i].places, places = places[:n:n], places[n:]
		for j, e := range l.edges {
			heap := &f.edges[e].lanes[l.way]
			f.lanes[i].places[j].at = int32(len(*heap))
			*heap = append(*heap, seat{lane: int32(i), nth: int32(j)})
		}
	}
}

// start puts a flow on a lane: work bytes, at the rate alone if unhindered.
func (f *flows) start(now float64, block, lane int32, work, alone float64) {
	l := &f.lanes[lane]
	l.flows++
	f.weigh(block, lane, 1)
	g := f.group(l, lane, alone)
	if len(g.ends) == 0 {
		g.clock, g.at, g.rate = 0, now, 0
	}
	g.advance(now)
	g.push(flight{g.clock + work, block})
	g.touched = true
	f.touch(lane, l)
}

// touch notes that a flow started or ended on a lane.
func (f *flows) touch(lane int32, l *laneState) {
	if !l.touched {
		l.touched = true
		f.moved = append(f.moved, lane)
	}
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
	g.touched = true
	f.touch(lane, &f.lanes[lane])
	for limit := g.clock + slack; len(g.ends) > 0 && g.ends[0].end <= limit; {
		block := g.pop().block
		f.lanes[lane].flows--
		f.weigh(block, lane, -1)
		done(block)
		g = &f.groups[i] // done may have added groups
	}
}

// weigh adds a threadblock's flow to the load of its edges, or takes it away:
// one on each link, its weights on the memories, as often as there are such flows.
func (f *flows) weigh(block, lane int32, sign int64) {
	l := &f.p.lanes[lane]
	sign *= f.p.blocks[block].size / l.size
	for i, e := range l.edges {
		if i < l.links {
			f.edges[e].load[inside] += sign * l.alike[i] * one
		} else {
			f.edges[e].load[l.way] += sign * l.alike[i] * f.weights[block][i-l.links]
		}
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
		for way, heap := range s.lanes {
			f.find(heap, min(s.was[way], s.share[way]))
			for _, x := range f.above {
				l := &f.lanes[x.lane]
				f.hasten(now, x.lane, l)
				f.lower(heap, &l.places[x.nth], l.key(x.nth))
			}
		}
	}
	for _, lane := range f.moved {
		l := &f.lanes[lane]
		if l.flows == 0 {
			l.share, l.touched = 0, false // its keys stay until they are visited
			if f.watch != nil {
				f.watch.rated(lane)
			}
			continue
		}
		f.hasten(now, lane, l)
	}
	f.dirty, f.moved = f.dirty[:0], f.moved[:0]
	if f.watch != nil {
		f.watch.flushed()
	}
}

// hasten gives the flows of a lane its present share.
func (f *flows) hasten(now float64, lane int32, l *laneState) {
	if l.seen == f.round || l.flows == 0 {
		return
	}
	l.seen = f.round
	was, narrow := l.share, l.narrow
	f.narrowest(lane, l)
	if l.share > was || l.narrow != narrow {
		f.raise(lane, l)
	}
	if l.share == was && !l.touched {
		return
	}
	l.touched = false
	for _, i := range l.groups {
		g := &f.groups[i]
		if len(g.ends) == 0 || l.share == was && !g.touched {
			continue
		}
		g.touched = false
		g.advance(now)
		g.rate = f.rates.soft(g.alone, l.share)
		f.q.set(f.first+i, now+(g.ends[0].end-g.clock)/g.rate)
	}
	if f.watch != nil {
		f.watch.rated(lane)
	}
}

// rate returns the rate of all flows of a lane together, in bytes a microsecond.
func (f *flows) rate(lane int32) float64 {
	rate := 0.0
	for _, i := range f.lanes[lane].groups {
		g := &f.groups[i]
		rate += g.rate * float64(len(g.ends))
	}
	return rate
}

// narrowest finds a lane's narrowest edge: the one that gives a flow the least share.
func (f *flows) narrowest(lane int32, l *laneState) {
	of := &f.p.lanes[lane]
	l.share, l.narrow = math.Inf(1), 0
	for i, e := range of.edges[:of.links] {
		if share := f.edges[e].share[inside]; share < l.share {
			l.share, l.narrow = share, int32(i)
		}
	}
	for i, e := range of.edges[of.links:] {
		if s := &f.edges[e]; s.share[of.way] < l.share {
			l.share, l.narrow = s.share[of.way], int32(of.links+i)
			s.tight = s.tight || of.links > 0
		}
	}
}

// key returns the least key that the lane may have in the heap of its nth edge.
func (l *laneState) key(nth int32) float64 {
	if nth == l.narrow || l.share == 0 {
		return l.share
	}
	return math.Float64frombits(math.Float64bits(l.share) - 1)
}

// find lists the entries of a heap with a key of at least least.
func (f *flows) find(heap []seat, least float64) {
	f.above = f.above[:0]
	if len(heap) == 0 || heap[0].key < least {
		return
	}
	f.above = append(f.above, heap[0])
	f.at = append(f.at[:0], 0)
	for i := 0; i < len(f.at); i++ {
		first := int(f.at[i])*4 + 1
		for c := first; c < min(first+4, len(heap)); c++ {
			if heap[c].key >= least {
				f.above = append(f.above, heap[c])
				f.at = append(f.at, int32(c))
			}
		}
	}
}

// raise raises the keys of a lane where they are too low.
func (f *flows) raise(lane int32, l *laneState) {
	of := &f.p.lanes[lane]
	for j, e := range of.edges {
		at, key := &l.places[j], l.key(int32(j))
		if at.key >= key {
			continue
		}
		at.key = key
		heap, i := f.edges[e].lanes[of.way], at.at
		for i > 0 {
			parent := (i - 1) / 4
			if heap[parent].key >= key {
				break
			}
			f.put(heap, i, heap[parent])
			i = parent
		}
		f.put(heap, i, seat{key, lane, int32(j)})
	}
}

func (f *flows) lower(heap []seat, at *place, key float64) {
	if at.key <= key {
		return
	}
	at.key = key
	i := at.at
	x := heap[i]
	x.key = key
	for {
		first := 4*int(i) + 1
		if first >= len(heap) {
			break
		}
		most := first
		for c := first + 1; c < min(first+4, len(heap)); c++ {
			if heap[c].key > heap[most].key {
				most = c
			}
		}
		if heap[most].key <= key {
			break
		}
		f.put(heap, i, heap[most])
		i = int32(most)
	}
	f.put(heap, i, x)
}

// put makes x the i-th entry of a heap.
func (f *flows) put(heap []seat, i int32, x seat) {
	heap[i] = x
	f.lanes[x.lane].places[x.nth].at = i
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
