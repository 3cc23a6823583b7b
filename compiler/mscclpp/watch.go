package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// watch tracks what happens before what, and finds accesses that nothing orders.
//
// The threads of a threadblock are synchronised only by a nop, a barrier and the
// like; the time from one of these to the next is a phase. What one thread waits
// for orders what all threads do in the next phase, and what it signals tells of
// what all of them did in earlier phases. Within a phase, two accesses to a cell
// are ordered only if the same thread makes both.
//
// A clock says how many phases of each threadblock are known to be over. It has
// two parts: strong covers memory accesses, and weak only execution, which is all
// that a relaxed signal or a packet proves. A write must come weakly after earlier
// reads; any other pair of accesses must be ordered strongly.
type watch struct {
	m       *machine
	tbs     []clocked
	events  []event
	cells   []touched
	firsts  []touch // by cell of scratch: the first write
	reads   []touch
	sent    []map[int][]clock // by counter and threadblock: the clock that each post carried
	got     []map[int]int     // by counter and threadblock: how many times it took
	came    []cameFrom        // packets read, in the order of the reading events
	moved   int64             // cells read and written
	work    int64             // effort spent on following orders
	started [2]int            // the last event and rank that begun examined
	relaxed bool              // some output was known only weakly to be complete
	handed  bool              // some input may still be read by its own rank's port at the end
}

// clock is what is known to be over: numbers of phases, by threadblock.
type clock struct{ strong, weak []int32 }

// clocked is a threadblock, or the proxy of a port: its phase, what it knew at the
// start of the phase, and what those of its threads know that have waited since.
type clocked struct {
	phase int32
	start clock
	lent  bool // start is shared and must be copied before it changes
	lanes map[int]clock
	// weakly is what the packets read in this phase have proved.
	weakly []clock
	looks  []int // its events that read packets
	// taken is the lane that took from each counter in this phase. acted tells
	// whether the threadblock did something since, and unsure is a counter that
	// two lanes took from, or none.
	taken  map[int]int
	acted  bool
	unsure int
}

// event is one pass of one instruction.
type event struct {
	who   int32 // threadblock, or proxy of a port
	phase int32
	at    clock
	in    *instr
	tb    int32 // threadblock; for a proxy, the one that handed it the work
	looks int32 // its first packet in came, which is in the order of events
	seen  int32 // how many packets it read
}

// cameFrom is a packet that one element of an event read and another element of an
// earlier event wrote.
type cameFrom struct{ element, event, from int32 }

// touch is an access by one element of an event. The first cell of the place tells
// which thread made it.
type touch struct {
	event, element, first int32
	packets               bool
	next                  int32 // an earlier read of the same cell, or -1
}

// touched is the last write of a cell and the reads since; for scratch, the first
// write too.
type touched struct {
	write touch
	reads int32
	first int32
}

const nobody = -1

func newWatch(m *machine) *watch {
	n := len(m.tbs) + len(m.engines)
	w := &watch{m: m, started: [2]int{nobody, nobody}, tbs: make([]clocked, n), cells: make([]touched, len(m.memory.Cells()))}
	for i := range w.tbs {
		w.tbs[i] = clocked{phase: 1, start: clock{make([]int32, n), make([]int32, n)}, unsure: nobody}
		w.tbs[i].start.strong[i], w.tbs[i].start.weak[i] = 1, 1
	}
	for i := range w.cells {
		w.cells[i] = touched{touch{event: nobody}, nobody, nobody}
	}
	for range m.counters {
		w.sent, w.got = append(w.sent, nil), append(w.got, nil)
	}
	return w
}

// merge is a clock that knows what either knows.
func (w *watch) merge(a, b clock) clock {
	return clock{w.max(a.strong, b.strong), w.max(a.weak, b.weak)}
}

func (w *watch) max(a, b []int32) []int32 {
	if &a[0] == &b[0] {
		return a
	}
	w.work += int64(len(a))
	c := make([]int32, len(a))
	for i, x := range a {
		c[i] = max(x, b[i])
	}
	return c
}

// knows is what one lane of a threadblock knows.
func (w *watch) knows(t, lane int) clock {
	if c, ok := w.tbs[t].lanes[lane]; ok {
		return c
	}
	w.tbs[t].lent = true
	return w.tbs[t].start
}

func (w *watch) learn(t, lane int, c clock) {
	s := &w.tbs[t]
	if s.lanes == nil {
		s.lanes = map[int]clock{}
	}
	s.lanes[lane] = w.merge(w.knows(t, lane), c)
}

// sync ends the current phase of a threadblock.
func (w *watch) sync(t int) {
	s := &w.tbs[t]
	n := len(s.start.strong)
	next := s.start
	if s.lent {
		w.work += int64(n)
		next = clock{append(make([]int32, 0, n), next.strong...), append(make([]int32, 0, n), next.weak...)}
	}
	for _, c := range s.lanes {
		raise(next.strong, c.strong)
		raise(next.weak, c.weak)
	}
	for _, c := range s.weakly {
		raise(next.weak, c.weak)
	}
	w.work += int64(n * (len(s.lanes) + len(s.weakly)) / 4)
	s.phase++
	next.strong[t], next.weak[t] = s.phase, s.phase
	s.start, s.lanes, s.weakly, s.lent = next, nil, nil, false
	s.taken, s.acted, s.unsure = nil, false, nobody
}

// raise adds to a what b knows.
func raise(a, b []int32) {
	b = b[:len(a)]
	for i, x := range a {
		a[i] = max(x, b[i])
	}
}

// affordable ends a verification that takes too much work.
func (w *watch) affordable() {
	switch {
	case w.moved > maxMoved:
		w.m.fail(verify.Limit, -1, -1, -1, "more than %d cells are moved: no more are verified", maxMoved)
	case w.work > maxWork:
		w.m.fail(verify.Limit, -1, -1, -1, "orders among %d threadblocks and port channels take too much to follow", len(w.tbs))
	}
}

// gather shares what each threadblock at a barrier knows with all of them.
func (w *watch) gather(here []int) {
	all := w.tbs[here[0]].start
	for _, t := range here[1:] {
		all = w.merge(all, w.tbs[t].start)
	}
	for _, t := range here {
		w.tbs[t].start, w.tbs[t].lent = all, true
	}
}

// post records what a signal or a release proves. One through a port covers
// everything that the port was handed before.
func (w *watch) post(t, lane, c int, in *instr) {
	w.acts(t, in)
	known := w.knows(t, lane)
	if lane < len(in.engines) {
		e := in.engines[lane]
		w.tbs[e].start = w.merge(w.tbs[e].start, known)
		w.sync(e)
		known, w.tbs[e].lent = w.tbs[e].start, true
	} else if in.op.Kind.relaxed {
		known.strong = nil
	}
	if w.sent[c] == nil {
		w.sent[c] = map[int][]clock{}
	}
	w.sent[c][t] = append(w.sent[c][t], known)
}

// take learns what a wait or an acquire proves. With one poster and one taker it
// is matched with the post of the same number; otherwise only what holds for every
// possible order is learnt.
func (w *watch) take(t, lane, c int, in *instr) {
	w.inTurn(t, lane, c, in)
	if w.got[c] == nil {
		w.got[c] = map[int]int{}
	}
	w.got[c][t]++
	of := &w.m.counters[c]
	all := 0
	w.work += int64(32 * len(of.posters))
	for _, u := range of.posters {
		all += of.posts[u]
	}
	for _, u := range of.posters {
		certain := w.got[c][t] - of.initial - (all - of.posts[u])
		if certain < 1 {
			continue
		}
		known := w.sent[c][u][certain-1]
		if known.strong == nil || in.op.Kind.relaxed && in.op.Type != Port {
			known.strong = w.tbs[t].start.strong
			w.tbs[t].lent = true
		}
		w.learn(t, lane, known)
	}
}

// flush waits for everything that a port was handed.
func (w *watch) flush(t, lane, e int) {
	w.sync(e)
	w.tbs[e].lent = true
	w.learn(t, lane, w.tbs[e].start)
}

// begin creates the event of one pass of an instruction.
func (w *watch) begin(t int, in *instr, cells int) int {
	w.acts(t, in)
	w.moved += int64(cells)
	return w.event(t, t, in)
}

func (w *watch) event(who, t int, in *instr) int {
	w.tbs[who].lent = true
	w.events = append(w.events, event{who: int32(who), phase: w.tbs[who].phase, at: w.tbs[who].start, in: in, tb: int32(t), looks: int32(len(w.came))})
	return len(w.events) - 1
}

// hand creates the event of what a lane hands to its port.
func (w *watch) hand(t, lane int, in *instr) int {
	e := in.engines[lane]
	w.tbs[e].start = w.merge(w.tbs[e].start, w.knows(t, lane))
	return w.event(e, t, in)
}

// looked records that packets were read, without any data being used.
func (w *watch) looked(who int, cells []int) {
	for i, c := range cells {
		w.packet(who, i, c)
	}
}

// packet records the writer of the packet that an element of an event read.
func (w *watch) packet(who, element, c int) {
	from := w.cells[c].write
	e := &w.events[who]
	if from.event < 0 || from.event == int32(who) {
		return
	}
	s := &w.tbs[e.who]
	if e.seen == 0 {
		s.looks = append(s.looks, who)
	}
	if at := w.events[from.event].at; len(s.weakly) == 0 || &s.weakly[len(s.weakly)-1].weak[0] != &at.weak[0] {
		s.weakly = append(s.weakly, at)
	}
	w.came = append(w.came, cameFrom{int32(element), from.event, from.element})
	e.seen++
}

// read checks and records a read of a cell.
func (w *watch) read(who, element, c, first int, g *region, rank int) {
	e := &w.events[who]
	t := touch{event: int32(who), element: int32(element), first: int32(first), packets: g.packets, next: nobody}
	w.begun(who, c, g, rank)
	// A thread that reads packets waits for each of them. A port does not, but
	// rppkt waits before handing them over.
	if g.packets && (e.who == e.tb || e.in.op.Kind.does == moves) {
		w.packet(who, element, c)
	} else {
		w.ordered(w.cells[c].write, t, c, false)
	}
	t.next = w.cells[c].reads
	w.reads = append(w.reads, t)
	w.cells[c].reads = int32(len(w.reads) - 1)
}

// write checks and records a write of a cell.
func (w *watch) write(who, element, c, first int, g *region, rank int) {
	t := touch{event: int32(who), element: int32(element), first: int32(first), packets: g.packets, next: nobody}
	w.begun(who, c, g, rank)
	w.ordered(w.cells[c].write, t, c, false)
	for r := w.cells[c].reads; r >= 0; r = w.reads[r].next {
		w.ordered(w.reads[r], t, c, true)
	}
	begin := w.cells[c].first
	if begin == nobody && g.scratch {
		begin = int32(len(w.firsts))
		w.firsts = append(w.firsts, t)
	}
	w.cells[c] = touched{t, nobody, begin}
}

// ordered checks that access a comes before access b of the same cell. Weakly
// suffices where a is a read.
func (w *watch) ordered(a, b touch, c int, weakly bool) {
	if a.event < 0 {
		return
	}
	x, y := &w.events[a.event], &w.events[b.event]
	known := y.at.strong
	if weakly {
		known = y.at.weak
	}
	switch {
	case a.event == b.event:
		if a.element == b.element && weakly {
			return
		}
	case known[x.who] > x.phase:
		return
	case x.who == y.who && x.who != x.tb:
		return // a port does one thing after another
	case x.who == y.who && x.phase == y.phase && a.first == b.first && a.packets == b.packets && x.in.dealt() == y.in.dealt():
		return // the same thread
	case weakly && w.chained(a, b):
		return
	}
	w.race(a, b, c)
}

// dealt is how an instruction divides the elements of a place among its threads: by
// the vector (0), by the packet (1), or by the multimem vector (2). Only places that
// are divided alike give each thread the same elements.
func (in *instr) dealt() int {
	if in.packets() {
		return 1
	}
	if in.op.Kind.Name == "glres" {
		return 2
	}
	return 0
}

// race reports two accesses that nothing orders.
func (w *watch) race(a, b touch, c int) {
	m := w.m
	x, y := &w.events[a.event], &w.events[b.event]
	rank, buffer, at := m.memory.Where(c)
	per := m.size.cells
	if buffer == collective.Scratch {
		per = m.scratchCells() * m.double
	}
	message := fmt.Sprintf("%s and %s both access %s[%d] of gpu %d, and nothing orders them", m.name(y), m.name(x), buffer, at/per, rank)
	if a.event == b.event {
		message = fmt.Sprintf("%s accesses %s[%d] of gpu %d twice, and nothing orders that", m.name(y), buffer, at/per, rank)
	}
	w.unordered(y, message)
}

// unordered reports a possible wrong order at an event, as a warning if the order
// can't be known.
func (w *watch) unordered(e *event, message string) {
	m := w.m
	tb := &m.tbs[e.tb]
	if len(m.vague) > 0 {
		if !m.said {
			m.said = true
			m.warn(tb.gpu, tb.id, e.in.at, "%s as far as can be followed: who goes first is not followed where there are several (%s)", message, m.vagueness())
		}
		return
	}
	m.fail(verify.Race, tb.gpu, tb.id, e.in.at, "%s", message)
}

// name is how findings refer to an event.
func (m *machine) name(e *event) string {
	tb := &m.tbs[e.tb]
	return fmt.Sprintf("gpu %d threadblock %d op %d (%s)", tb.gpu, tb.id, e.in.at, e.in.op.Kind.Name)
}

// packets tells whether an instruction reads or writes packets.
func (in *instr) packets() bool {
	for _, regions := range [...][]region{in.src, in.dst} {
		for i := range regions {
			if regions[i].packets {
				return true
			}
		}
	}
	return false
}
