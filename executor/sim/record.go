package sim

import "math"

// Every time in the engine is that of the event before it plus something: of several events
// that a threadblock waits for, the last. A recorder keeps an account beside each of these
// times: how much of it each cause took, along the chain of events that led there. The
// account of the threadblock that ends last is that of the critical path, and no walk back
// over the events is needed.

// Cause is what a part of a call's time goes to.
type Cause uint8

// The causes.
const (
	CauseLaunch      Cause = iota // the fixed cost of the call
	CauseLatency                  // a message's way, from sent to visible
	CauseLink                     // what links take beyond the threadblock's own rate
	CauseMemory                   // the same, where a GPU's memory was the narrowest
	CauseThreadblock              // passes, copies and calls at the threadblock's own rate
	CauseSlots                    // the way back of a free slot, for which a sender waits
	CauseDependency               // waits for other threadblocks of the GPU
	causes           = iota
)

var causeNames = [...]string{"launch", "latency", "link", "memory", "threadblock", "slots", "dependency"}

// String returns the cause's name: launch, latency, link, memory, threadblock, slots or
// dependency.
func (c Cause) String() string { return causeNames[c] }

// spent is time by cause, in microseconds.
type spent [causes]float64

func (s *spent) sum() float64 {
	t := 0.0
	for _, us := range s {
		t += us
	}
	return t
}

// account says where the time until at went.
type account struct {
	at   float64
	by   spent
	hops int64 // messages, Simple's slices
}

// until extends the account to a time, for one cause.
func (a *account) until(at float64, c Cause) {
	a.by[c] += at - a.at
	a.at = at
}

// recorder keeps the accounts of a run. Its methods are called where the engine sets the
// time in question, and only if there is a recorder.
type recorder struct {
	e      *engine
	blocks []account       // by threadblock: of blockState.ready
	woke   []account       // by threadblock: of the step that it last waited for
	begun  []begin         // by threadblock: its latest flow
	slots  []*slotAccounts // by slot; nil until it is used
	spare  []slotAccounts  // room for more of them
	tiles  []account       // by threadblock: at the ends of its last tiles, as pattern.ends
	seen   []int           // by threadblock: tiles ended before any were skipped
	runs   []outcome       // of the simulations of the run, in order
	trace  *tracer         // of the first of them; nil: no trace is asked for
}

type slotAccounts struct{ start, arrive, free account }

// begin is the start of a flow, and what it takes at its threadblock's own rate.
type begin struct{ at, alone float64 }

// outcome is the account of a simulation's time, without the launch.
type outcome struct {
	last int // the threadblock that ends last
	account
}

// reset sets the recorder back to time 0.
func (r *recorder) reset() {
	n := len(r.e.blocks)
	if len(r.blocks) != n {
		r.blocks, r.woke, r.begun = make([]account, n), make([]account, n), make([]begin, n)
		r.tiles, r.seen = make([]account, n*history), make([]int, n)
	}
	clear(r.blocks)
	r.slots = make([]*slotAccounts, len(r.e.slots))
	if r.trace != nil {
		r.e.flows.watch = r.trace
	}
}

// slot returns the accounts of a connection's n-th message.
func (r *recorder) slot(c *connState, n int64) *slotAccounts {
	s := &r.slots[int64(c.base)+n%int64(c.slots)]
	if *s == nil {
		if len(r.spare) == 0 {
			r.spare = make([]slotAccounts, 256)
		}
		*s, r.spare = &r.spare[0], r.spare[1:]
	}
	return *s
}

// credited returns the account of the slot that a sender's next message takes; nil if the
// slot has not been used yet.
func (r *recorder) credited(c *connState) *account {
	n := c.started - int64(c.slots)
	if n < 0 {
		return nil
	}
	return &r.slot(c, n).free
}

// waits records that a threadblock, ready until now, goes on at a time when a message has
// come in and a slot is free. Either may be nil.
func (r *recorder) waits(i int32, ready, at float64, message, slot *account) {
	a := &r.blocks[i]
	a.until(ready, CauseThreadblock)
	if at <= ready {
		return
	}
	why := CauseLatency
	if message == nil || slot != nil && slot.at >= at {
		*a, why = *slot, CauseSlots
	} else {
		*a = *message
		a.hops++
	}
	a.until(at, why)
	r.shows(i, ready, at, why)
}

// shows adds a wait to the trace.
func (r *recorder) shows(i int32, ready, until float64, why Cause) {
	if r.trace != nil {
		r.trace.waits(i, ready, until, why)
	}
}

// receives records that a threadblock receives a connection's next message of LL or LL128:
// either all its passes from a time on, or, where that ends later, the last one at arrive.
func (r *recorder) receives(i int32, ready, from float64, c *connState, trails bool, arrive float64) {
	m := r.slot(c, c.received)
	if trails {
		r.blocks[i].until(ready, CauseThreadblock)
		r.follows(i, arrive, &m.arrive)
		r.shows(i, ready, from, CauseLatency)
		return
	}
	r.waits(i, ready, from, &m.start, nil)
}

// follows records that a threadblock goes on when a message's last pass arrives.
func (r *recorder) follows(i int32, arrive float64, message *account) {
	a := &r.blocks[i]
	*a = *message
	a.hops++
	a.until(arrive, CauseLatency)
}

// depends records that a threadblock's dependencies are met, and what they cost.
func (r *recorder) depends(i int32, ready, now, cost float64) {
	a := &r.blocks[i]
	a.until(ready, CauseThreadblock)
	if now > ready {
		*a = r.woke[i]
		a.until(now, CauseDependency)
		r.shows(i, ready, now, CauseDependency)
	}
	a.until(a.at+cost, CauseDependency)
}

// wakes records that a threadblock's step lets another one go on.
func (r *recorder) wakes(i, waiter int32) {
	r.blocks[i].until(r.e.blocks[i].ready, CauseThreadblock)
	r.woke[waiter] = r.blocks[i]
}

// begins records that a threadblock's flow starts.
func (r *recorder) begins(i int32, alone float64) {
	r.blocks[i].until(r.e.now, CauseThreadblock)
	r.begun[i] = begin{r.e.now, alone}
}

// lands records that a threadblock's flow has ended. What it took beyond the threadblock's
// own rate is the share of the edge that was its narrowest at the end.
func (r *recorder) lands(i int32) {
	a, b := &r.blocks[i], r.begun[i]
	own := min(b.alone, r.e.now-b.at)
	a.until(a.at+own, CauseThreadblock)
	if r.e.memoryBound(i) {
		a.until(r.e.now, CauseMemory)
	} else {
		a.until(r.e.now, CauseLink)
	}
}

// memoryBound reports whether the narrowest edge of a threadblock's flow is a memory.
func (e *engine) memoryBound(i int32) bool {
	lane := e.laneOf(i)
	return int(e.flows.lanes[lane].narrow) >= e.p.lanes[lane].links
}

// laneOf returns the lane of a threadblock's flow.
func (e *engine) laneOf(i int32) int32 {
	b := &e.p.blocks[i]
	if e.p.ops[e.blocks[i].op].kind.local() {
		return b.local
	}
	return e.p.conns[b.tx].lane
}

// starts records the start of a connection's next message.
func (r *recorder) starts(conn int32, c *connState) {
	r.slot(c, c.started).start = r.blocks[r.e.p.conns[conn].tx]
}

// sends records that a connection's next message has been sent.
func (r *recorder) sends(conn int32, c *connState, at float64) {
	s := &r.slot(c, c.sent).arrive
	*s = r.blocks[r.e.p.conns[conn].tx]
	s.until(at, CauseThreadblock)
}

// leaves records when the message of sends has been written, and when the host has sent it.
func (r *recorder) leaves(c *connState, m *slot) {
	s := r.slot(c, c.sent)
	s.start.until(m.start, CauseThreadblock)
	s.arrive.until(m.arrive, CauseLink)
}

// takes records that a connection's next message has been taken, and when its slot is free.
func (r *recorder) takes(conn int32, c *connState, free float64) {
	credit := r.e.c.credit[r.e.p.conns[conn].lane]
	s := &r.slot(c, c.received).free
	*s = r.blocks[r.e.p.conns[conn].rx]
	s.until(free-credit, CauseThreadblock)
	s.until(free, CauseSlots)
}

// ends records that a threadblock has ended an op.
func (r *recorder) ends(i int32, ready float64) {
	r.blocks[i].until(ready, CauseThreadblock)
	if r.trace != nil {
		r.trace.works(i, ready)
	}
}

// tile records that a threadblock has ended its m-th tile.
func (r *recorder) tile(i int32, m int) {
	if r.e.pattern.skipped == 0 {
		r.seen[i] = m
		r.tiles[int(i)*history+m%history] = r.blocks[i]
	}
}

// finish records the end of a simulation: the account of the threadblock that ends last.
// Skipped tiles take what the last ones before them took, by cause.
func (r *recorder) finish() {
	w := &r.e.pattern
	last := 0
	for i := range r.e.blocks {
		if w.end(r.e, i) > w.end(r.e, last) {
			last = i
		}
	}
	a := r.blocks[last]
	if w.skipped > 0 {
		m := r.seen[last]
		now, before := r.tiles[last*history+m%history], r.tiles[last*history+(m-w.lag)%history]
		a.more(&now, &before, w.end(r.e, last))
	}
	r.runs = append(r.runs, outcome{last, a})
	r.trace, r.e.flows.watch = nil, nil
}

// more extends the account to a time by repeating what happened between two others.
func (a *account) more(now, before *account, until float64) {
	var of spent
	for c := range of {
		of[c] = max(now.by[c]-before.by[c], 0) // negative where the path has changed over
	}
	total := of.sum()
	if !(total > 0) {
		of, total = a.by, a.by.sum()
	}
	if !(total > 0) || until <= a.at {
		return
	}
	times := (until - a.at) / total
	for c := range of {
		a.by[c] += of[c] * times
	}
	a.hops += int64(math.Round(float64(now.hops-before.hops) * times))
	a.at = until
}
