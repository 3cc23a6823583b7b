package sim

import (
	"context"
	"math"
)

// A program's tile loop soon becomes periodic: every further tile takes each threadblock
// the same time. These tiles are not simulated, up to the last, which may be partial, and
// the drain.

const (
	maxLag  = 4    // the longest cycle looked for, in tiles
	history = 8    // tiles remembered: more than maxLag + 1
	same    = 1e-9 // relative difference of times that count as equal

	// Otherwise the rest is extrapolated from a run of manyTiles and one of half as
	// many; of more tiles where they cost little, of fewer where a tile has very many
	// calls.
	manyTiles  = 48
	fewTiles   = 4
	maxTiles   = 192
	smallCalls = 150 << 10 // calls of a run that is cheap
	maxCalls   = 30 << 20  // calls of a run that takes seconds
)

// pattern watches one run's tile loop for repetition.
type pattern struct {
	off      bool // simulate every tile for which there is time
	watching bool
	ended    bool // a threadblock has ended a tile at this instant
	total    int  // tiles of the whole loop
	most     int  // the highest tile that any threadblock has reached
	retry    int  // look again when most gets here
	live     int  // threadblocks with steps

	ends   []float64 // by threadblock: when its last tiles ended
	leads  []float64 // how long before it the calls of each had ended, in sum
	runs   []uint8   // by threadblock and lag: how many equal increments in a row
	steady [maxLag + 1]int

	skipped int       // tiles left out
	lag     int       // the cycle that they repeat
	period  []float64 // by threadblock: time of one of them
	paces   []float64 // by edge: the period of those who use it
}

func (w *pattern) reset(e *engine, limit int) {
	n := len(e.p.blocks)
	w.total = e.c.tiles
	w.watching = !w.off && w.total > maxLag && limit > maxLag
	w.most, w.retry, w.live, w.skipped, w.ended = 0, 0, 0, 0, false
	w.steady = [maxLag + 1]int{}
	if !w.watching {
		return
	}
	if len(w.period) != n {
		w.ends = make([]float64, n*history)
		w.leads = make([]float64, n*history)
		w.runs = make([]uint8, n*(maxLag+1))
		w.period = make([]float64, n)
		w.paces = make([]float64, len(e.p.edges))
	}
	clear(w.runs)
	for i := range e.p.blocks {
		if e.p.blocks[i].from < e.p.blocks[i].to && !e.p.free(i) {
			w.live++
		}
	}
}

// free reports whether a threadblock has neither connections nor dependencies. Its pace
// then depends on itself alone, and affects others only over a shared memory that is too
// slow for all of them.
func (p *Prepared) free(block int) bool {
	b := &p.blocks[block]
	return b.tx < 0 && b.rx < 0 && (b.from == b.to || p.ops[b.from].waitsFrom == p.ops[b.to-1].waitsTo)
}

// needed returns how many equal increments over a lag make a threadblock steady.
func needed(lag int) uint8 { return uint8(lag + 2) }

// tile records that a threadblock has ended a tile.
func (w *pattern) tile(e *engine, i int32, s *blockState) {
	calls := float64(s.calls)
	lead := calls*s.ready - s.sum
	s.sum, s.calls = 0, 0
	if !w.watching || w.skipped > 0 {
		return
	}
	m := int(s.tile) // tiles ended
	ends := w.ends[int(i)*history : int(i+1)*history]
	leads := w.leads[int(i)*history : int(i+1)*history]
	ends[m%history], leads[m%history] = s.ready, lead
	if e.p.free(int(i)) {
		return
	}
	w.most = max(w.most, m)
	for lag := 1; lag <= maxLag && m-1-lag >= 1; lag++ {
		now := ends[m%history] - ends[(m-lag)%history]
		before := ends[(m-1)%history] - ends[(m-1-lag)%history]
		// Calls that drift within their tile will sooner or later meet another limit. So
		// their times within the tile must repeat too.
		moved := leads[m%history] - leads[(m-lag)%history]
		steady := math.Abs(now-before) <= same*now && math.Abs(moved) <= same*now*calls
		run := &w.runs[int(i)*(maxLag+1)+lag]
		switch was := *run; {
		case !steady:
			if was >= needed(lag) {
				w.steady[lag]--
			}
			*run = 0
		case was < needed(lag):
			*run++
			if *run == needed(lag) {
				w.steady[lag]++
			}
		}
	}
	w.ended = true
}

// look cuts the loop if it has become periodic. It is called once all that happens at an
// instant is known, so that the order within an instant does not matter.
func (w *pattern) look(e *engine) {
	if !w.ended {
		return
	}
	w.ended = false
	if w.skipped > 0 || w.most < w.retry {
		return
	}
	for lag := 1; lag <= maxLag; lag++ {
		if w.steady[lag] == w.live {
			if w.cut(e, lag) {
				return
			}
			w.retry = w.most + 3
		}
	}
}

// cut skips the tiles between now and the last, if the loop is certain to remain periodic.
// It is not in these cases. A sender that gains on its receiver will run out of slots. A
// threadblock that gains on one it waits for will catch up. Where two share an edge at
// different paces, the slower will end up with the edge to itself; a memory counts as an
// edge if it has delayed a message. And the pace of a free threadblock is too uncertain for
// it to end last.
func (w *pattern) cut(e *engine, lag int) bool {
	skip := (w.total - (w.most + 2)) / lag * lag
	if skip <= 0 || w.total-skip > e.limit {
		return false
	}
	if !w.measure(e, lag) || !w.endsInStep(e) || !w.sharersInStep(e) {
		return false
	}
	for _, f := range e.p.follows {
		if w.period[f.waiter] < w.period[f.waited]*(1-10*same) {
			return false
		}
	}
	w.skipped, w.lag = skip, lag
	e.limit = w.total - skip
	return true
}

// measure computes each threadblock's time of a tile. It returns false if a free
// threadblock might end last.
func (w *pattern) measure(e *engine, lag int) bool {
	slowest, slowestFree := 0.0, 0.0
	for i := range e.blocks {
		m := int(e.blocks[i].tile)
		ends := w.ends[i*history : (i+1)*history]
		w.period[i] = 0
		if m > lag {
			w.period[i] = (ends[m%history] - ends[(m-lag)%history]) / float64(lag)
		}
		b := &e.p.blocks[i]
		if b.from == b.to {
			continue
		}
		if !e.p.free(i) {
			slowest = max(slowest, w.period[i])
			continue
		}
		slowestFree = max(slowestFree, w.period[i])
		if m <= lag && e.p.hasMemories() {
			return false
		}
	}
	return !e.p.hasMemories() || slowestFree <= 0.9*slowest
}

// endsInStep reports whether the two ends of every connection keep the same pace.
func (w *pattern) endsInStep(e *engine) bool {
	for _, c := range e.p.conns {
		if c.rx < 0 {
			continue
		}
		a, b := w.period[c.tx], w.period[c.rx]
		if math.Abs(a-b) > 10*same*max(a, b) {
			return false
		}
	}
	return true
}

// sharersInStep reports whether all that share an edge, or a memory, keep the same pace.
func (w *pattern) sharersInStep(e *engine) bool {
	clear(w.paces)
	for i := range e.p.conns {
		c := &e.p.conns[i]
		if e.conns[i].sent > 0 && !w.laneInStep(e, c.lane, w.period[c.tx]) {
			return false
		}
	}
	if e.p.hasMemories() {
		for i, b := range e.p.blocks {
			if b.local >= 0 && !w.laneInStep(e, b.local, w.period[i]) {
				return false
			}
		}
	}
	return true
}

// laneInStep reports whether a lane is used at the pace of all that use its edges.
func (w *pattern) laneInStep(e *engine, lane int32, period float64) bool {
	l := &e.p.lanes[lane]
	for i, edge := range l.edges {
		if i >= l.links && !e.flows.edges[edge].tight {
			continue
		}
		if pace := w.paces[edge]; pace == 0 {
			w.paces[edge] = period
		} else if math.Abs(pace-period) > 10*same*max(pace, period) {
			return false
		}
	}
	return true
}

// makespan returns when the last threadblock ends, with the tiles skipped.
func (w *pattern) makespan(e *engine) float64 {
	last := 0.0
	for i := range e.blocks {
		last = max(last, w.end(e, i))
	}
	return last
}

// end returns when a threadblock ends, with the tiles skipped.
func (w *pattern) end(e *engine, i int) float64 {
	end := e.blocks[i].ready
	if w.skipped > 0 {
		end += float64(w.total-int(e.blocks[i].tile)) * w.period[i]
	}
	return end
}

// run simulates the loop, or as much of it as determines the rest.
func (e *engine) run(ctx context.Context, c *costs) (Result, error) {
	calls := int64(0)
	for _, b := range e.p.blocks {
		for i := b.from; i < b.to; i++ {
			calls += b.size * int64(c.calls(e.p.ops[i].count))
		}
	}
	full := manyTiles
	if calls > 0 {
		full = int(min(max(smallCalls/calls, manyTiles), maxTiles))
		full = int(min(max(maxCalls/calls, fewTiles), int64(full)))
	}
	limit := min(c.tiles, full)
	time, err := e.simulate(ctx, c, limit)
	if err != nil {
		return Result{}, err
	}
	r := Result{TimeUS: c.launch + time, Tiles: c.tiles, Simulated: e.limit, Events: e.events}
	switch {
	case e.pattern.skipped > 0:
		r.Method = Periodic
	case limit == c.tiles:
		return r, nil
	default:
		shorter, err := e.simulate(ctx, c, full/2)
		if err != nil {
			return Result{}, err
		}
		a, b := float64(full/2), float64(full)
		r.TimeUS += max(time-shorter, 0) / (b - a) * (float64(c.tiles) - b)
		r.Simulated, r.Method = full+full/2, Linear
		r.Events += e.events
	}
	r.TimeUS = max(r.TimeUS, e.p.bound(c))
	return r, nil
}
