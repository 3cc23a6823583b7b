package compiler

import "fmt"

// order finds the global order in which instructions are handed to threadblocks
// (GC3 5.2, step 4): by depth, then height, under what makes every threadblock's
// part of it free of deadlock however the parts are interleaved:
//
//   - an instruction comes after all it waits for;
//   - it comes after all that the receiver of its message waits for, so that a
//     message, once sent, can be taken;
//   - messages of a connection are taken in the order they were sent;
//   - a connection never holds more messages than it has slots.
//
// Then the order itself, one instruction at a time, is an execution that never
// blocks; in any other, the earliest instruction not yet done is always able to
// go on. (With S slots; more can only help.)
//
// A fused instruction takes a message only when it can pass it on. Where chains
// run in a circle their messages could fill all slots and stop one another:
//
//	→ 0 ─▶ 1 ─▶ 2 ─▶ 3 ─▶ 0        every slot full, every rcs waiting for room
//
// So that they do not, a chain begins only where it leaves its connection a slot
// to spare. Should it happen all the same, a fused instruction in the circle is
// taken apart: its receive then makes room. That always helps, since the program
// with nothing fused can run in the order it was traced.
//
// With CallPerChunk a message of more chunks than there are slots cannot be sent
// in full before it is taken; it goes through its chain's ranks at once, with
// nothing in between, and such a chain ends where it would pass a rank twice.
func order(u *unit) error {
	s := newSchedule(u)
	for i := range u.ins {
		s.offer(int32(i))
	}
	for s.left > 0 {
		if i, ok := s.ready.pop(); ok {
			if !s.done[i] {
				s.queued[i] = false
				s.consider(i)
			}
			continue
		}
		if !s.unblock() {
			return fmt.Errorf("%d instructions can never be reached: waits form a circle", s.left)
		}
	}
	return nil
}

// schedule is the order under construction.
type schedule struct {
	u      *unit
	prio   []int32
	succs  csr
	left   int     // live instructions not yet in the order
	open   []int32 // by instruction: waits not yet in the order
	done   []bool
	queued []bool // in ready, or held back by its connection
	ready  *readySet
	lines  []line
	next   []int32 // by message: the one behind it on its connection
	parked heap    // sends of more chunks than there are slots, to be tried again
	begins heap    // starts of chains that were held back, stale ones among them
	passes heap    // sends, fused ones among them, that were held back; some are stale
	moved  bool    // something was ordered since parked was last tried
}

// line is a connection's state at a point in the order.
type line struct {
	head, tail int32 // messages sent and not taken, oldest first
	held       int   // slots they fill
	begins     heap  // starts of chains waiting for room
	passes     heap  // other sends waiting for room
}

func newSchedule(u *unit) *schedule {
	n := len(u.ins)
	s := &schedule{
		u: u, prio: u.priority, succs: u.preds.transpose(),
		open: make([]int32, n), done: make([]bool, n), queued: make([]bool, n),
		lines: make([]line, len(u.conns)), next: make([]int32, len(u.msgs)),
	}
	for i := range s.lines {
		s.lines[i].head, s.lines[i].tail = none, none
	}
	for i := range u.ins {
		s.open[i] = int32(len(u.preds.row(int32(i))))
		if u.live(int32(i)) {
			s.left++
		}
	}
	s.ready = newReadySet(s.prio)
	u.seq = make([]int32, 0, s.left)
	return s
}

// offer puts i among the ready, if it is.
func (s *schedule) offer(i int32) {
	u := s.u
	if s.done[i] || s.queued[i] || s.open[i] != 0 || !u.live(i) {
		return
	}
	in := &u.ins[i]
	if in.get != none && s.lines[u.msgs[in.get].conn].head != in.get {
		return
	}
	if in.put != none && s.open[u.msgs[in.put].receiver] != 0 {
		if in.get != none {
			s.passes.push(i, s.prio)
		}
		return
	}
	s.queued[i] = true
	s.ready.push(i)
}

// consider orders a ready instruction, or holds it back for want of slots.
func (s *schedule) consider(i int32) {
	u := s.u
	m := u.ins[i].put
	if m == none {
		s.commit(i)
		return
	}
	l, size, slots := &s.lines[u.msgs[m].conn], s.u.slotsOf(m), u.opt.Slots
	begins := u.ins[i].get == none && u.ins[u.msgs[m].receiver].put != none
	if size > slots {
		if s.broken(i) == none {
			s.stream(i)
			return
		}
		s.queued[i] = true
		s.parked.push(i, s.prio)
		return
	}
	room := slots - l.held
	if begins && slots > 1 {
		room--
	}
	if size <= room {
		s.commit(i)
		return
	}
	s.queued[i] = true
	if begins {
		l.begins.push(i, s.prio)
		s.begins.push(i, s.prio)
	} else {
		l.passes.push(i, s.prio)
		s.passes.push(i, s.prio)
	}
}

// commit puts i next in the order, and offers what that enables.
func (s *schedule) commit(i int32) {
	u := s.u
	in := &u.ins[i]
	s.done[i], s.queued[i], s.moved = true, false, true
	s.left--
	u.seq = append(u.seq, i)
	if in.get != none {
		s.take(in.get)
	}
	if in.put != none {
		s.send(in.put)
	}
	s.release(i)
	if in.fused != none {
		s.release(in.fused)
	}
}

// take removes the oldest message of a connection, and offers whoever waited
// for that.
func (s *schedule) take(m int32) {
	l := &s.lines[s.u.msgs[m].conn]
	l.head = s.next[m]
	l.held -= s.u.slotsOf(m)
	if l.head == none {
		l.tail = none
	} else {
		s.offer(s.u.msgs[l.head].receiver)
	}
	s.readmit(l)
}

// readmit offers the first of those a connection holds back once more.
func (s *schedule) readmit(l *line) {
	for _, h := range [2]*heap{&l.passes, &l.begins} {
		for {
			i, ok := h.pop(s.prio)
			if !ok {
				break
			}
			if s.done[i] || !s.queued[i] || s.u.ins[i].put == none {
				continue // ordered, or taken apart, meanwhile
			}
			s.ready.push(i)
			break
		}
	}
}

func (s *schedule) send(m int32) {
	l := &s.lines[s.u.msgs[m].conn]
	s.next[m] = none
	l.held += s.u.slotsOf(m)
	if l.tail == none {
		l.head, l.tail = m, m
		s.offer(s.u.msgs[m].receiver)
	} else {
		s.next[l.tail] = m
		l.tail = m
	}
	s.readmit(l)
}

// release tells whatever waited for i that it is in the order.
func (s *schedule) release(i int32) {
	u := s.u
	for _, x := range s.succs.row(i) {
		s.open[x]--
		if s.open[x] != 0 {
			continue
		}
		s.offer(x)
		if m := u.ins[x].get; m != none {
			s.offer(u.msgs[m].sender)
		}
	}
}

// stream orders i and the whole chain behind it.
func (s *schedule) stream(i int32) {
	for {
		m := s.u.ins[i].put
		s.commit(i)
		if m == none {
			return
		}
		i = s.u.msgs[m].receiver
	}
}

// broken is the instruction at which a chain that begins with i cannot go on at
// once, or none.
func (s *schedule) broken(i int32) int32 {
	u := s.u
	passed := map[int32]bool{}
	for {
		m := u.ins[i].put
		if m == none {
			return none
		}
		y := u.msgs[m].receiver
		passed[u.ins[i].rank] = true
		if s.lines[u.msgs[m].conn].head != none || s.open[y] != 0 || passed[u.ins[y].rank] {
			return i
		}
		i = y
	}
}

// unblock makes something ready when nothing is.
func (s *schedule) unblock() bool {
	if s.moved && len(s.parked) > 0 {
		s.moved = false
		for _, i := range s.parked {
			s.ready.push(i)
		}
		s.parked = s.parked[:0]
		return true
	}
	for {
		i, ok := s.begins.pop(s.prio)
		if !ok {
			break
		}
		if m := s.u.ins[i].put; s.queued[i] && !s.done[i] {
			if s.lines[s.u.msgs[m].conn].held+s.u.slotsOf(m) <= s.u.opt.Slots {
				s.commit(i) // without a slot to spare
				return true
			}
		}
	}
	for {
		i, ok := s.passes.pop(s.prio)
		if !ok {
			break
		}
		if in := &s.u.ins[i]; !s.done[i] && in.fused != none && s.lines[s.u.msgs[in.get].conn].head == in.get {
			s.part(i)
			return true
		}
	}
	i, ok := s.parked.pop(s.prio)
	if !ok {
		return false
	}
	s.ready.push(i)
	if b := s.broken(i); b != none {
		if s.u.ins[b].get == none {
			return false
		}
		s.part(b)
	}
	return true
}

// part takes a fused instruction apart.
func (s *schedule) part(a int32) {
	s.u.split(a)
	s.left++
	s.queued[a] = false
	s.offer(a)
}

// heap is a binary heap of instructions, least priority number first.
type heap []int32

func (h *heap) push(i int32, prio []int32) {
	q := append(*h, i)
	at := len(q) - 1
	for at > 0 {
		up := (at - 1) / 2
		if prio[q[up]] <= prio[i] {
			break
		}
		q[at] = q[up]
		at = up
	}
	q[at] = i
	*h = q
}

func (h *heap) pop(prio []int32) (int32, bool) {
	q := *h
	if len(q) == 0 {
		return none, false
	}
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return top, true
	}
	at := 0
	for {
		down := 2*at + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && prio[q[down+1]] < prio[q[down]] {
			down++
		}
		if prio[q[down]] >= prio[last] {
			break
		}
		q[at] = q[down]
		at = down
	}
	q[at] = last
	return top, true
}
