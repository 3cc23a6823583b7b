package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// watch follows what happens before what, and finds accesses that nothing
// orders.
//
// A threadblock is many threads, which only a nop, a barrier and the like bring
// together: from one of these to the next is a phase. What a thread waits for
// orders what all of them do in the next phase; what it signals, what all of
// them did in the phases before. Within a phase, two accesses of a cell are
// ordered only where the same thread makes both.
//
// A clock says, for each threadblock, how many of its phases are over as far as
// somebody can know. There are two: strong covers what was written, weak only
// what was run, as a relaxed signal or a packet tells it. A write must come
// weakly after the reads before it, all else strongly.
type watch struct {
	m       *machine
	tbs     []clocked
	events  []event
	cells   []touched
	firsts  []touch // of the cells of scratch: what wrote each first
	reads   []touch
	sent    []map[int][]clock // by counter, by threadblock: what each post carried
	got     []map[int]int     // by counter, by threadblock: how often it took
	came    []cameFrom        // packets read, by event
	moved   int64             // cells read and written
	work    int64             // what following orders took
	started [2]int            // the last event and rank that begun looked at
	relaxed bool              // some output was only weakly there in time
	handed  bool              // some input may still be read by its own rank's port at the end
}

// clock is what somebody knows to be over: phases by threadblock.
type clock struct{ strong, weak []int32 }

// clocked is a threadblock, or a port's engine, with its phase, what was known
// at the phase's start, and what its threads that waited since know.
type clocked struct {
	phase int32
	start clock
	lent  bool // whether somebody keeps start
	lanes map[int]clock
	// weakly is what packets read in this phase have told.
	weakly []clock
	looks  []int // its events that read packets
	// taken is which lane took from a counter in this phase; acted is whether something
	// was done since, and unsure is a counter that two lanes took from, or nobody.
	taken  map[int]int
	acted  bool
	unsure int
}

// event is one pass of one instruction.
type event struct {
	who   int32 // threadblock, or engine
	phase int32
	at    clock
	in    *instr
	tb    int32 // threadblock, also of what an engine does
	looks int32 // first of its packets in came; came is in order of events
	seen  int32 // how many
}

// cameFrom is a packet that element of an event read, written by element of
// another.
type cameFrom struct{ element, event, from int32 }

// touch is an access: by which element of which event, and the first cell of
// the place, by which one tells the thread.
type touch struct {
	event, element, first int32
	packets               bool
	next                  int32 // earlier read of the cell, -1 none
}

// touched is who last wrote a cell, who read it since, and who wrote it first, of
// scratch.
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

// merge is a clock that knows what both know.
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

// knows is what a lane of a threadblock knows.
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

// sync ends the phase of a threadblock.
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

// raise makes a know what b knows.
func raise(a, b []int32) {
	b = b[:len(a)]
	for i, x := range a {
		a[i] = max(x, b[i])
	}
}

// affordable stops what takes too much.
func (w *watch) affordable() {
	switch {
	case w.moved > maxMoved:
		w.m.fail(verify.Limit, -1, -1, -1, "more than %d cells are moved: no more are verified", maxMoved)
	case w.work > maxWork:
		w.m.fail(verify.Limit, -1, -1, -1, "orders among %d threadblocks and port channels take too much to follow", len(w.tbs))
	}
}

// gather lets all who met at a barrier know what each knows.
func (w *watch) gather(here []int) {
	all := w.tbs[here[0]].start
	for _, t := range here[1:] {
		all = w.merge(all, w.tbs[t].start)
	}
	for _, t := range here {
		w.tbs[t].start, w.tbs[t].lent = all, true
	}
}

// post keeps what a signal or a release tells. One through a port tells of all
// that the port was handed before.
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

// take learns what a wait or an acquire must have been preceded by: with one
// poster and one taker the post of the same number, with more what is certain
// whichever came first.
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

// flush waits for all that a port was handed.
func (w *watch) flush(t, lane, e int) {
	w.sync(e)
	w.tbs[e].lent = true
	w.learn(t, lane, w.tbs[e].start)
}

// begin is the event of a pass of an instruction.
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

// hand is the event of what a lane hands to its port.
func (w *watch) hand(t, lane int, in *instr) int {
	e := in.engines[lane]
	w.tbs[e].start = w.merge(w.tbs[e].start, w.knows(t, lane))
	return w.event(e, t, in)
}

// looked reads packets without doing anything with them.
func (w *watch) looked(who int, cells []int) {
	for i, c := range cells {
		w.packet(who, i, c)
	}
}

// packet notes whose packet an element of an event read.
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

// read checks a read of a cell and keeps it.
func (w *watch) read(who, element, c, first int, g *region, rank int) {
	e := &w.events[who]
	t := touch{event: int32(who), element: int32(element), first: int32(first), packets: g.packets, next: nobody}
	w.begun(who, c, g, rank)
	// A thread that reads packets waits for each; a port does not look, but
	// rppkt does before it hands them over.
	if g.packets && (e.who == e.tb || e.in.op.Kind.does == moves) {
		w.packet(who, element, c)
	} else {
		w.ordered(w.cells[c].write, t, c, false)
	}
	t.next = w.cells[c].reads
	w.reads = append(w.reads, t)
	w.cells[c].reads = int32(len(w.reads) - 1)
}

// write checks a write of a cell and keeps it.
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

// ordered makes sure that access a comes before access b of the same cell;
// weakly will do where a is a read.
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
		return // a port does one thing after the other
	case x.who == y.who && x.phase == y.phase && a.first == b.first && a.packets == b.packets && x.in.dealt() == y.in.dealt():
		return // the same thread
	case weakly && w.chained(a, b):
		return
	}
	w.race(a, b, c)
}

// dealt is how an instruction deals the elements of a place to threads: by the
// packet, by the vector, or by the multimem vector.
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

// unordered reports that something may go wrong with the order of an event: as
// a warning where the order is not known.
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

// name is how a finding names an event.
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
