package mscclpp

import (
	"github.com/colltune/colltune/compiler/verify"
)

// orderTracker tracks happens-before, and reports unordered accesses.
//
// The threads of a threadblock are synchronised only by a nop, a barrier and
// the like; the time from one of these to the next is a phase. A wait by one
// thread orders the next phase of all threads, and a signal covers earlier
// phases of all threads. Within a phase, two accesses to a cell are ordered
// only if the same thread makes both.
//
// Clocks count the phases of each threadblock that are known to be complete.
// They have two parts: strong covers memory accesses, and weak only execution,
// which is all that a relaxed signal or a packet proves. A write must come
// weakly after earlier reads; any other pair of accesses must be ordered
// strongly.
type orderTracker struct {
	m           *machine
	tbs         []clockState
	events      []event
	at          clock // of the last event
	cells       []cellState
	firsts      []cellAccess // by cell of scratch: the first write
	reads       []cellAccess
	postClocks  []map[int][]clock // by counter and threadblock: the clock that each post carried
	takes       []map[int]int     // by counter and threadblock: number of takes
	packetReads []packetRead      // packets read, in the order of the reading events
	moved       int64             // cells read and written
	work        int64             // units of work spent on following orders
	started     [2]int            // the last event and rank that begun examined
	relaxed     bool              // some output was known only weakly to be complete
	handed      bool              // some input may still be read by its own rank's port at the end
}

// event is one pass of one instruction.
type event struct {
	who   int32 // threadblock, or proxy of a port
	phase int32
	in    *instr
	tb    int32  // threadblock; for a proxy, the one that handed it the work
	looks int32  // its first packet in packetReads, which is in the order of events
	seen  int32  // how many packets it read
	weak  counts // of its clock, if that matters after the next event: of packets and of a launch's first writes
}

// packetRead is a packet that one element of an event read and another element
// of an earlier event wrote.
type packetRead struct{ element, event, from int32 }

// cellAccess is an access by one element of an event. The first cell of the
// place determines which thread made it.
type cellAccess struct {
	event, element, first int32
	packets               bool
	next                  int32 // an earlier read of the same cell, or -1
}

// cellState is the last write of a cell and the reads since; for scratch, the
// first write too.
type cellState struct {
	write cellAccess
	reads int32
	first int32
}

const nobody = -1

func newWatch(m *machine) *orderTracker {
	n := len(m.tbs) + len(m.engines)
	w := &orderTracker{m: m, started: [2]int{nobody, nobody}, tbs: make([]clockState, n), cells: make([]cellState, len(m.memory.Cells()))}
	for i := range w.tbs {
		start := newCounts(n).with(i, 1)
		w.tbs[i] = clockState{phase: 1, start: clock{start, start}, unsure: nobody}
	}
	for i := range w.cells {
		w.cells[i] = cellState{cellAccess{event: nobody}, nobody, nobody}
	}
	for range m.counters {
		w.postClocks, w.takes = append(w.postClocks, nil), append(w.takes, nil)
	}
	return w
}

// checkWork ends a verification that takes too much work.
func (w *orderTracker) checkWork() {
	switch {
	case w.moved > maxMoved:
		w.m.fail(verify.Limit, -1, -1, -1, "more than %d cells are moved: no more are verified", maxMoved)
	case w.work > maxWork:
		w.m.fail(verify.Limit, -1, -1, -1, "orders among %d threadblocks and port channels take too much to follow", len(w.tbs))
	}
}

// post records the clock that a signal or a release carries. Through a port it
// covers everything that the port was handed before.
func (w *orderTracker) post(t, lane, c int, in *instr) {
	w.recordAction(t, in)
	known := w.clockOf(t, lane)
	if lane < len(in.engines) {
		e := in.engines[lane]
		w.tbs[e].start = w.merge(w.tbs[e].start, known)
		w.sync(e)
		known = w.tbs[e].start
	} else if in.op.Kind.relaxed {
		known.strong = nil
	}
	if w.postClocks[c] == nil {
		w.postClocks[c] = map[int][]clock{}
	}
	w.postClocks[c][t] = append(w.postClocks[c][t], known)
}

// take merges the clock that a wait or an acquire receives. With one poster and
// one taker that is the clock of the post of the same number; otherwise it is
// the minimum over every possible order.
func (w *orderTracker) take(t, lane, c int, in *instr) {
	w.checkTakeOrder(t, lane, c, in)
	if w.takes[c] == nil {
		w.takes[c] = map[int]int{}
	}
	w.takes[c][t]++
	of := &w.m.counters[c]
	all := 0
	w.work += int64(32 * len(of.posters))
	for _, u := range of.posters {
		all += of.posts[u]
	}
	for _, u := range of.posters {
		certain := w.takes[c][t] - of.initial - (all - of.posts[u])
		if certain < 1 {
			continue
		}
		known := w.postClocks[c][u][certain-1]
		if len(of.takers) == 1 {
			w.postClocks[c][u][certain-1] = clock{} // nobody takes it again
		}
		if known.strong == nil || in.op.Kind.relaxed && in.op.Type != Port {
			known.strong = w.tbs[t].start.strong
		}
		w.learn(t, lane, known)
	}
}

// flush waits for all copies that a port was handed.
func (w *orderTracker) flush(t, lane, e int) {
	w.sync(e)
	w.learn(t, lane, w.tbs[e].start)
}

// begin creates the event of one pass of an instruction.
func (w *orderTracker) begin(t int, in *instr, cells int) int {
	w.recordAction(t, in)
	w.moved += int64(cells)
	return w.event(t, t, in)
}

func (w *orderTracker) event(who, t int, in *instr) int {
	w.at = w.tbs[who].start
	w.events = append(w.events, event{who: int32(who), phase: w.tbs[who].phase, in: in, tb: int32(t), looks: int32(len(w.packetReads))})
	return len(w.events) - 1
}

// handToPort creates the event of a copy that a lane hands to its port.
func (w *orderTracker) handToPort(t, lane int, in *instr) int {
	e := in.engines[lane]
	w.tbs[e].start = w.merge(w.tbs[e].start, w.clockOf(t, lane))
	return w.event(e, t, in)
}

// recordPacketSource records the writer of the packet that an element of an
// event read.
func (w *orderTracker) recordPacketSource(who, element, c int) {
	from := w.cells[c].write
	e := &w.events[who]
	if from.event < 0 || from.event == int32(who) {
		return
	}
	s := &w.tbs[e.who]
	if e.seen == 0 {
		s.looks = append(s.looks, who)
	}
	if at := w.events[from.event].weak; len(s.weakly) == 0 || !at.same(s.weakly[len(s.weakly)-1]) {
		s.weakly = append(s.weakly, at)
	}
	w.packetReads = append(w.packetReads, packetRead{int32(element), from.event, from.element})
	e.seen++
}

// read checks and records a read of a cell.
func (w *orderTracker) read(who, element, c, first int, g *region, rank int) {
	e := &w.events[who]
	t := cellAccess{event: int32(who), element: int32(element), first: int32(first), packets: g.packets, next: nobody}
	w.checkBegun(who, c, g, rank)
	// A thread that reads packets waits for each of them. A port does not, but
	// rppkt waits before handing them over.
	if g.packets && (e.who == e.tb || e.in.op.Kind.effect == moves) {
		w.recordPacketSource(who, element, c)
	} else {
		w.ordered(w.cells[c].write, t, c, false)
	}
	t.next = w.cells[c].reads
	w.reads = append(w.reads, t)
	w.cells[c].reads = int32(len(w.reads) - 1)
}

// write checks and records a write of a cell.
func (w *orderTracker) write(who, element, c, first int, g *region, rank int) {
	t := cellAccess{event: int32(who), element: int32(element), first: int32(first), packets: g.packets, next: nobody}
	w.checkBegun(who, c, g, rank)
	w.ordered(w.cells[c].write, t, c, false)
	for r := w.cells[c].reads; r >= 0; r = w.reads[r].next {
		w.ordered(w.reads[r], t, c, true)
	}
	begin := w.cells[c].first
	if begin == nobody && g.scratch {
		begin = int32(len(w.firsts))
		w.firsts = append(w.firsts, t)
		w.events[who].weak = w.at.weak
	}
	if g.packets {
		w.events[who].weak = w.at.weak
	}
	w.cells[c] = cellState{t, nobody, begin}
}
