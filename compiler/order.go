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
			if n := &s.nodes[i]; !n.done {
				n.queued = false
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
	left   int    // live instructions not yet in the order
	nodes  []node // by instruction
	ready  *readySet
	lines  []line
	links  []link // by message
	parked heap   // sends of more chunks than there are slots, to be tried again
	begins heap   // starts of chains that were held back, stale ones among them
	passes heap   // sends, fused ones among them, that were held back; some are stale
	moved  bool   // something was ordered since parked was last tried
}

// node is what the order needs of an instruction, in one place: it goes through
// millions of them in no order of theirs, and waits for memory each time.
type node struct {
	open     int32 // waits not yet in the order
	get, put int32 // messages, as in instr
	live     bool
	done     bool
	queued   bool // in ready, or held back by its connection
}

// link is what the order needs of a message.
type link struct {
	sender, receiver, conn int32
	next                   int32 // the message behind it on its connection
}

// line is a connection's state at a point in the order.
type line struct {
	head, tail int32 // messages sent and not taken, oldest first
	held       int   // slots they fill
	begins     heap  // starts of chains waiting for room
	passes     heap  // other sends waiting for room
}

func newSchedule(u *unit) *schedule {
	s := &schedule{
		u: u, prio: u.priority, succs: u.preds.transpose(),
		nodes: make([]node, len(u.ins)), lines: make([]line, len(u.conns)), links: make([]link, len(u.msgs)),
	}
	for i := range s.lines {
		s.lines[i].head, s.lines[i].tail = none, none
	}
	for m := range u.msgs {
		s.links[m].next = none
		s.lookAtMessage(int32(m))
	}
	for i := range u.ins {
		s.nodes[i].open = int32(len(u.preds.row(int32(i))))
		s.lookAt(int32(i))
		if s.nodes[i].live {
			s.left++
		}
	}
	s.ready = newReadySet(s.prio)
	u.seq = make([]int32, 0, s.left)
	return s
}

// lookAt takes over what an instruction is now.
func (s *schedule) lookAt(i int32) {
	n, in := &s.nodes[i], &s.u.ins[i]
	n.get, n.put, n.live = in.get, in.put, s.u.live(i)
}

// lookAtMessage takes over what a message is now.
func (s *schedule) lookAtMessage(m int32) {
	l, msg := &s.links[m], &s.u.msgs[m]
	l.sender, l.receiver, l.conn = msg.sender, msg.receiver, msg.conn
}

// offer puts i among the ready, if it is.
func (s *schedule) offer(i int32) {
	n := &s.nodes[i]
	if n.open != 0 || n.done || n.queued || !n.live {
		return
	}
	if n.get != none && s.lines[s.links[n.get].conn].head != n.get {
		return
	}
	if n.put != none && s.nodes[s.links[n.put].receiver].open != 0 {
		if n.get != none {
			s.passes.push(i, s.prio)
		}
		return
	}
	n.queued = true
	s.ready.push(i)
}

// consider orders a ready instruction, or holds it back for want of slots.
func (s *schedule) consider(i int32) {
	n := &s.nodes[i]
	if n.put == none {
		s.commit(i)
		return
	}
	to := &s.links[n.put]
	l, size, slots := &s.lines[to.conn], s.u.slotsOf(n.put), s.u.opt.Slots
	begins := n.get == none && s.nodes[to.receiver].put != none
	if size > slots {
		if s.broken(i) == none {
			s.stream(i)
			return
		}
		n.queued = true
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
	n.queued = true
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
	n := &s.nodes[i]
	n.done, n.queued, s.moved = true, false, true
	s.left--
	s.u.seq = append(s.u.seq, i)
	if n.get != none {
		s.take(n.get)
	}
	if n.put != none {
		s.send(n.put)
	}
	s.release(i)
	if n.get != none && n.put != none {
		s.release(s.u.ins[i].fused)
	}
}

// take removes the oldest message of a connection, and offers whoever waited
// for that.
func (s *schedule) take(m int32) {
	l := &s.lines[s.links[m].conn]
	l.head = s.links[m].next
	l.held -= s.u.slotsOf(m)
	if l.head == none {
		l.tail = none
	} else {
		s.offer(s.links[l.head].receiver)
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
			if n := &s.nodes[i]; n.done || !n.queued || n.put == none {
				continue // ordered, or taken apart, meanwhile
			}
			s.ready.push(i)
			break
		}
	}
}

func (s *schedule) send(m int32) {
	at := &s.links[m]
	l := &s.lines[at.conn]
	at.next = none
	l.held += s.u.slotsOf(m)
	if l.tail == none {
		l.head, l.tail = m, m
		s.offer(at.receiver)
	} else {
		s.links[l.tail].next = m
		l.tail = m
	}
	s.readmit(l)
}

// release tells whatever waited for i that it is in the order.
func (s *schedule) release(i int32) {
	for _, x := range s.succs.row(i) {
		n := &s.nodes[x]
		n.open--
		if n.open != 0 {
			continue
		}
		s.offer(x)
		if n.get != none {
			s.offer(s.links[n.get].sender)
		}
	}
}

// stream orders i and the whole chain behind it.
func (s *schedule) stream(i int32) {
	for {
		m := s.nodes[i].put
		s.commit(i)
		if m == none {
			return
		}
		i = s.links[m].receiver
	}
}

// broken is the instruction at which a chain that begins with i cannot go on at
// once, or none.
func (s *schedule) broken(i int32) int32 {
	u := s.u
	passed := map[int32]bool{}
	for {
		m := s.nodes[i].put
		if m == none {
			return none
		}
		y := s.links[m].receiver
		passed[u.ins[i].rank] = true
		if s.lines[s.links[m].conn].head != none || s.nodes[y].open != 0 || passed[u.ins[y].rank] {
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
		if n := &s.nodes[i]; n.queued && !n.done {
			if s.lines[s.links[n.put].conn].held+s.u.slotsOf(n.put) <= s.u.opt.Slots {
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
		if n := &s.nodes[i]; !n.done && s.u.ins[i].fused != none && s.lines[s.links[n.get].conn].head == n.get {
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
	b := s.u.split(a)
	s.lookAt(a)
	s.lookAt(b)
	s.lookAtMessage(s.nodes[b].put)
	s.left++
	s.nodes[a].queued = false
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
