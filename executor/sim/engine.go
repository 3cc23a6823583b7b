package sim

import (
	"context"
	"fmt"
	"strings"
)

// engine is the state of one run. Engines are reused; reset makes one as new.
//
// A threadblock runs ahead of the clock as long as it only needs times that are
// known: those of a message that has been sent, or of a slot that will be free. It
// returns to the queue to start a flow, because that slows others down, and to
// publish a step, because others may be waiting for it.
type engine struct {
	p     *Prepared
	c     *costs
	q     queue
	flows flows
	now   float64

	blocks  []blockState
	conns   []connState
	slots   []slot // of all connections
	waiters [][]waiter
	ready   []int32 // threadblocks that can go on at this instant

	limit   int // tiles to run
	left    int // threadblocks that have not run them
	events  int64
	pattern pattern
	rec     *recorder // of causes; nil unless the run is explained
}

// blockState is the progress of a threadblock.
type blockState struct {
	ready     float64 // when it is free to go on
	end       float64 // when its flow left the wire
	sum       float64 // sum of the times at which this tile's calls ended
	calls     int32   // of this tile that have ended
	published int64   // tile x steps + step of the last flagged step
	op        int32
	tile      int32
	call      int32
	dep       int32 // the next dependency to look at
	stage     stage
	second    bool // Simple: in the call's second slice
	done      bool
}

// stage is the progress of a threadblock within an op.
type stage uint8

const (
	waiting  stage = iota // for the op's dependencies
	calling               // at the start of a call
	slicing               // Simple: at the start of a slice
	starting              // has a time for its flow to start
	flying                // its flow is on the wire
	landed                // its flow is done
	trailing              // its flow is done, but not what it forwards
	ending                // has a time for the op's end
)

// connState counts a connection's messages.
type connState struct {
	started  int64 // flows begun
	sent     int64 // messages whose arrival is known
	received int64 // messages taken; it is known when their slots are free
	base     int32 // first of its slots in engine.slots
	slots    int32 // how many it has
	rxWaits  bool  // the receiver is stopped until sent or started grows
	txWaits  bool  // the sender is stopped until received grows
}

// slot holds the times of the message in it, and of the slot itself once the
// message has been taken.
type slot struct {
	start  float64 // the flow began
	arrive float64 // LL: the flow ended; Simple: posted; the latency is added to it
	free   float64 // the sender may use it again
}

// waiter is a threadblock stopped at a dependency.
type waiter struct {
	block int32
	need  int64
}

func (p *Prepared) engine() *engine {
	if e, ok := p.engines.Get().(*engine); ok {
		return e
	}
	return &engine{p: p}
}

// reset sets the engine back to time 0.
func (e *engine) reset(c *costs) {
	p := e.p
	e.c, e.now, e.events = c, 0, 0
	e.q.reset(len(p.blocks))
	e.flows.reset(p, c, &e.q, int32(len(p.blocks)))
	if len(e.blocks) != len(p.blocks) {
		e.blocks = make([]blockState, len(p.blocks))
		e.waiters = make([][]waiter, len(p.blocks))
	}
	if len(e.conns) != len(p.conns) {
		e.conns = make([]connState, len(p.conns))
	}
	n := int32(0)
	for i := range e.conns {
		of := c.slotsOf(&p.lanes[p.conns[i].lane])
		e.conns[i] = connState{base: n, slots: of}
		n += of
	}
	if cap(e.slots) < int(n) {
		e.slots = make([]slot, n)
	} else {
		e.slots = e.slots[:n]
	}
	e.ready = e.ready[:0]
	for i := range e.blocks {
		b := &p.blocks[i]
		e.blocks[i] = blockState{op: b.from, dep: -1, published: -1}
		e.waiters[i] = e.waiters[i][:0]
	}
	if e.rec != nil {
		e.rec.reset()
	}
}

// simulate runs the program for limit tiles, or fewer if the tile loop becomes periodic,
// and returns the time at which the last threadblock ended. The error is ctx's, or a
// deadlock.
func (e *engine) simulate(ctx context.Context, c *costs, limit int) (float64, error) {
	e.reset(c)
	e.limit = limit
	e.left = 0
	e.pattern.reset(e, limit)
	for i := range e.blocks {
		if b := e.p.blocks[i]; b.from == b.to {
			e.blocks[i].done = true
			continue
		}
		e.left++
		e.ready = append(e.ready, int32(i))
	}
	done := func(block int32) {
		e.blocks[block].stage = landed
		e.blocks[block].end = e.now
		e.ready = append(e.ready, block)
		if e.rec != nil {
			e.rec.lands(block)
		}
	}
	blocks := int32(len(e.blocks))
	for {
		e.work()
		e.pattern.look(e)
		e.flows.flush(e.now)
		if len(e.q.heap) == 0 {
			break
		}
		e.now = e.q.heap[0].time
		for len(e.q.heap) > 0 && e.q.heap[0].time <= e.now {
			id := e.q.pop().id
			if id < blocks {
				e.ready = append(e.ready, id)
			} else {
				e.flows.finish(e.now, id-blocks, done)
			}
			if e.events&0xfff == 0 {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
			}
			e.events++
		}
	}
	if e.left > 0 {
		return 0, e.deadlock()
	}
	if e.rec != nil {
		e.rec.finish()
	}
	return e.pattern.makespan(e), nil
}

// work advances every ready threadblock.
func (e *engine) work() {
	for len(e.ready) > 0 {
		i := e.ready[len(e.ready)-1]
		e.ready = e.ready[:len(e.ready)-1]
		e.advance(i)
	}
}

// wake makes a threadblock ready that waited for another one.
func (e *engine) wake(i int32) { e.ready = append(e.ready, i) }

// advance runs a threadblock until it must wait: for a time (its event is in
// the queue), or for another threadblock (which will wake it).
func (e *engine) advance(i int32) {
	s := &e.blocks[i]
	b := &e.p.blocks[i]
	for !s.done {
		o := &e.p.ops[s.op]
		switch s.stage {
		case waiting:
			if !e.met(i, s, o) {
				return
			}
			s.stage = calling
		case ending:
			if s.ready > e.now && o.flagged {
				e.q.set(i, s.ready)
				return
			}
			if o.flagged {
				e.publish(i, int64(s.tile)*int64(b.steps)+int64(o.step))
			}
			e.next(i, s, b)
		default:
			if !e.step(i, s, b, o) {
				return
			}
		}
	}
}

// step continues the calls of an op. It returns false if the threadblock must wait.
func (e *engine) step(i int32, s *blockState, b *block, o *op) bool {
	if o.kind == idle {
		s.stage = ending
		return true
	}
	size := &e.c.at(int(s.tile), e.limit)[e.c.chunks(o.count, s.call)]
	switch {
	case o.kind.local():
		return e.local(i, s, b, o, size)
	case e.c.slotted():
		return e.slice(i, s, b, o, size)
	}
	return e.pass(i, s, b, o, size)
}

// local continues a call that neither sends nor receives: a flow over the GPU's memory, if
// that has a rate.
func (e *engine) local(i int32, s *blockState, b *block, o *op, size *call) bool {
	if b.local < 0 || size.bytes == 0 {
		s.ready += size.local(o.kind).all
		e.called(s, o)
		return true
	}
	if s.stage != landed {
		moved := part{bytes: size.bytes, wire: size.bytes}
		e.launch(i, s, o, b.local, &moved, size.local(o.kind).passes, s.ready)
		return false
	}
	s.ready = s.end + e.c.reduceCall
	e.called(s, o)
	return true
}

func (e *engine) called(s *blockState, o *op) {
	s.stage = calling
	s.sum += s.ready
	s.calls++
	if s.call++; s.call >= e.c.calls(o.count) {
		s.stage = ending
	}
}

// met reports whether the op's dependencies are met, and charges for them. If one is not,
// the threadblock is woken when it is.
func (e *engine) met(i int32, s *blockState, o *op) bool {
	n := o.waitsTo - o.waitsFrom
	if n == 0 {
		return true
	}
	if s.dep < 0 {
		s.dep = o.waitsFrom
	}
	for ; s.dep < o.waitsTo; s.dep++ {
		w := e.p.waits[s.dep]
		need := int64(s.tile)*int64(e.p.blocks[w.block].steps) + int64(w.step)
		if e.blocks[w.block].published < need {
			e.waiters[w.block] = append(e.waiters[w.block], waiter{i, need})
			return false
		}
	}
	s.dep = -1
	if e.rec != nil {
		e.rec.depends(i, s.ready, e.now, e.c.dep+e.c.nop*float64(n-1))
	}
	s.ready = max(s.ready, e.now) + e.c.dep + e.c.nop*float64(n-1)
	return true
}

// publish wakes the waiters of a threadblock's flagged step.
func (e *engine) publish(i int32, value int64) {
	e.blocks[i].published = value
	all := e.waiters[i]
	kept := all[:0]
	for _, w := range all {
		if w.need > value {
			kept = append(kept, w)
			continue
		}
		if e.rec != nil {
			e.rec.wakes(i, w.block)
		}
		e.wake(w.block)
	}
	e.waiters[i] = kept
}

// next goes on to the next op, or to the next tile.
func (e *engine) next(i int32, s *blockState, b *block) {
	s.stage, s.call, s.second = waiting, 0, false
	if e.rec != nil {
		e.rec.ends(i, s.ready)
	}
	if s.op++; s.op < b.to {
		return
	}
	s.op = b.from
	s.tile++
	if e.rec != nil {
		e.rec.tile(i, int(s.tile))
	}
	e.pattern.tile(e, i, s)
	if int(s.tile) >= e.limit {
		s.done = true
		e.left--
	}
}

// launch starts the flow of a threadblock's part at a given time. It returns false if
// that time lies ahead: the queue will bring the threadblock back.
func (e *engine) launch(i int32, s *blockState, o *op, lane int32, p *part, unloaded, at float64) bool {
	if at > e.now {
		s.stage = starting
		s.ready = at
		e.q.set(i, at)
		return false
	}
	l := &e.p.lanes[lane]
	work, alone := e.c.load(l, p.wire, unloaded)
	if len(l.edges) > l.links {
		e.flows.weights[i] = [2]int64{o.here.weight(p.bytes, p.wire, work), o.there.weight(p.bytes, p.wire, work)}
	}
	e.flows.start(e.now, i, lane, work, alone)
	if e.rec != nil {
		e.rec.begins(i, unloaded)
	}
	s.stage = flying
	return true
}

// slot returns the slot of a connection's n-th message.
func (e *engine) slot(c *connState, n int64) *slot {
	return &e.slots[int64(c.base)+n%int64(c.slots)]
}

// credit is when the sender may start its next message. It returns false if that is not
// known yet: the receiver will wake the sender.
func (e *engine) credit(c *connState) (float64, bool) {
	n := c.started - int64(c.slots)
	if n < 0 {
		return 0, true
	}
	if c.received <= n {
		c.txWaits = true
		return 0, false
	}
	return e.slot(c, n).free, true
}

// took records that the receiver has taken a message, and when its slot is free.
func (e *engine) took(conn int32, c *connState, free float64) {
	if e.rec != nil {
		e.rec.takes(conn, c, free)
	}
	e.slot(c, c.received).free = free
	c.received++
	if c.txWaits {
		c.txWaits = false
		e.wake(e.p.conns[conn].tx)
	}
}

// arrives wakes a receiver that waits for a message.
func (e *engine) arrives(conn int32, c *connState) {
	if c.rxWaits {
		c.rxWaits = false
		e.wake(e.p.conns[conn].rx)
	}
}

// deadlock returns an error that names threadblocks and the events they wait for.
func (e *engine) deadlock() error {
	var stuck []string
	left := int64(0)
	for i := range e.blocks {
		s, b := &e.blocks[i], &e.p.blocks[i]
		if s.done {
			continue
		}
		left += b.size
		if len(stuck) >= 3 {
			continue
		}
		o := e.p.ops[s.op]
		why := "a dependency"
		switch {
		case s.stage == waiting:
			w := e.p.waits[s.dep]
			why = fmt.Sprintf("threadblock %d step %d", w.id, w.step)
		case b.tx >= 0 && e.conns[b.tx].txWaits:
			why = "a free slot"
		case b.rx >= 0 && e.conns[b.rx].rxWaits:
			why = "a message"
		}
		stuck = append(stuck, fmt.Sprintf("rank %d threadblock %d step %d waits for %s", b.rank, b.id, o.step, why))
	}
	if left > int64(len(stuck)) {
		stuck = append(stuck, "…")
	}
	return fmt.Errorf("program deadlocks with %v: %d threadblocks wait: %s", e.c.proto, left, strings.Join(stuck, "; "))
}
