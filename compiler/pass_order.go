package compiler

import (
	"fmt"

	"github.com/colltune/colltune/compiler/internal/container"
)

// order finds the global order in which instructions are given to threadblocks
// (GC3 5.2, step 4): by depth, then height, under conditions that keep every
// threadblock's part of it free of deadlock, however the parts are interleaved:
//
//   - an instruction comes after all that it waits for;
//   - it comes after all that the receiver of its message waits for, so that a
//     message, once sent, can be taken;
//   - messages of a connection are taken in the order they were sent;
//   - a connection never holds more messages than it has slots.
//
// Executing the order one instruction at a time then never blocks; and in any
// interleaving, the earliest instruction of the order that is not yet done can
// always proceed. (This holds for the given number of slots; more can only help.)
//
// A fused instruction takes a message only when it can pass it on. Where chains
// form a cycle, their messages could fill all slots and block one another:
//
//	→ 0 ─▶ 1 ─▶ 2 ─▶ 3 ─▶ 0        every slot full, every rcs waiting for room
//
// To avoid that, a chain begins only if it leaves its connection a spare slot.
// If such a deadlock arises nevertheless, a fused instruction in the cycle is
// split, so that its receive frees a slot. This always succeeds in the end,
// since the program without fusion can run in the order in which it was traced.
//
// With callPerChunk, a message of more chunks than there are slots cannot be
// sent completely before it is taken. It passes through all ranks of its chain
// at once, with nothing in between; and a chain that would pass a rank twice is
// split there.
func order(prog *program) error {
	s := newSchedule(prog)
	for n := range s.nodes {
		s.offer(int32(n))
	}
	for s.left > 0 {
		if i, ok := s.ready.Pop(); ok {
			if n := &s.nodes[i]; !n.done {
				n.queued = false
				s.tryCommit(i)
			}
			continue
		}
		if !s.advanceStalled() {
			return fmt.Errorf("%d instructions can never be ordered: their waits form a cycle", s.left)
		}
	}
	prog.pool.Give(s.at, s.succs.start, s.succs.list, prog.ranked)
	prog.ranked = nil
	return nil
}

// schedule is the order under construction. It refers to instructions by their
// positions in program.ranked, because it visits them nearly in that order, which
// makes good use of the caches.
type schedule struct {
	prog       *program
	at         []int32 // by instruction: its position
	succs      csr
	left       int // live instructions not yet in the order
	nodes      []node
	ready      *container.ReadySet
	conns      []connState    // by connection
	parked     container.Heap // sends of more chunks than there are slots, to be retried
	heldHeads  container.Heap // heads of chains that were held back; some entries are stale
	heldSends  container.Heap // other sends that were held back, fused ones included; some entries are stale
	progressed bool           // an instruction was ordered since parked was last retried
}

// node is an instruction in the form that schedule needs. A message is
// identified by its receiver, which never changes.
type node struct {
	unordered    int32 // number of its dependencies that are not yet ordered
	get, put     int32 // connections of what it receives and sends, or none
	from, to     int32 // sender of what it receives, and receiver of what it sends
	nextReceiver int32 // receiver of the connection's next message after the one it receives, or none
	fused        int32 // the send that was fused into it, or none
	live, done   bool
	queued       bool // in ready, or held back by its connection
}

type connState struct {
	head, tail int32          // messages sent but not taken, oldest and newest
	slotsHeld  int            // slots they occupy
	heldHeads  container.Heap // heads of chains waiting for room
	heldSends  container.Heap // other sends waiting for room
}

func newSchedule(prog *program) *schedule {
	s := &schedule{
		prog: prog, at: prog.pool.Take(len(prog.ins)),
		nodes: make([]node, len(prog.ins)), conns: make([]connState, len(prog.conns)),
		ready: container.NewReadySet(len(prog.ins)),
	}
	for n, i := range prog.ranked {
		s.at[i] = int32(n)
	}
	for i := range s.conns {
		s.conns[i].head, s.conns[i].tail = none, none
	}
	container.Ranges(len(prog.ins), len(prog.ins), func(from, to int) {
		for i := int32(from); i < int32(to); i++ {
			s.nodes[s.at[i]].unordered = int32(len(prog.preds.row(i)))
			s.refresh(i)
		}
	})
	for i := range prog.ins {
		if prog.live(int32(i)) {
			s.left++
		}
	}
	s.buildSuccs()
	prog.seq = prog.pool.Take(s.left)[:0]
	return s
}

// refresh copies an instruction's current state into its node.
func (s *schedule) refresh(i int32) {
	n, in := &s.nodes[s.at[i]], &s.prog.ins[i]
	n.get, n.put, n.from, n.to, n.fused, n.live = none, none, none, none, none, s.prog.live(i)
	if in.get != none {
		m := &s.prog.msgs[in.get]
		n.get, n.from = m.conn, s.at[m.sender]
	}
	if in.put != none {
		m := &s.prog.msgs[in.put]
		n.put, n.to = m.conn, s.at[m.receiver]
	}
	if in.fused != none {
		n.fused = s.at[in.fused]
	}
}

// buildSuccs lists the instructions that wait for each instruction.
func (s *schedule) buildSuccs() {
	preds := &s.prog.preds
	// While rows are filled, start[k+1] is where row k continues; afterwards it is
	// the row's end.
	start := s.prog.pool.Take(len(s.nodes) + 2)
	for _, p := range preds.list {
		start[s.at[p]+2]++
	}
	for k := range s.nodes {
		start[k+2] += start[k+1]
	}
	list := s.prog.pool.Take(len(preds.list))
	for i := range s.prog.ins {
		for _, p := range preds.row(int32(i)) {
			next := &start[s.at[p]+1]
			list[*next] = s.at[i]
			*next++
		}
	}
	s.succs = csr{start: start[:len(s.nodes)+1], list: list}
}

// size returns the number of slots occupied by the message that i sends or
// receives.
func (s *schedule) size(i int32) int {
	if s.prog.callPerChunk {
		return int(s.prog.ins[s.prog.ranked[i]].count)
	}
	return 1
}

// offer adds i to the ready set if all its dependencies are ordered.
func (s *schedule) offer(i int32) {
	n := &s.nodes[i]
	if n.unordered != 0 || n.done || n.queued || !n.live {
		return
	}
	if n.get != none && s.conns[n.get].head != i {
		return
	}
	if n.put != none && s.nodes[n.to].unordered != 0 {
		if n.get != none {
			s.heldSends.Push(i)
		}
		return
	}
	n.queued = true
	s.ready.Push(i)
}

// tryCommit orders a ready instruction, or holds it back if there are not
// enough slots.
func (s *schedule) tryCommit(i int32) {
	n := &s.nodes[i]
	if n.put == none {
		s.commit(i)
		return
	}
	l, size, slots := &s.conns[n.put], s.size(i), s.prog.opt.Slots
	begins := n.get == none && s.nodes[n.to].put != none
	if size > slots {
		if s.chainBreak(i) == none {
			s.commitChain(i)
			return
		}
		n.queued = true
		s.parked.Push(i)
		return
	}
	room := slots - l.slotsHeld
	if begins && slots > 1 {
		room--
	}
	if size <= room {
		s.commit(i)
		return
	}
	n.queued = true
	if begins {
		l.heldHeads.Push(i)
		s.heldHeads.Push(i)
	} else {
		l.heldSends.Push(i)
		s.heldSends.Push(i)
	}
}

// commit appends i to the order, and offers the instructions that may be ready
// now.
func (s *schedule) commit(i int32) {
	n := &s.nodes[i]
	n.done, n.queued, s.progressed = true, false, true
	s.left--
	s.prog.seq = append(s.prog.seq, s.prog.ranked[i])
	if n.get != none {
		s.take(i)
	}
	if n.put != none {
		s.send(i)
	}
	s.release(i)
	if n.fused != none {
		s.release(n.fused)
	}
}

// take removes the oldest message from i's connection, and offers the
// instructions that may be ready now.
func (s *schedule) take(i int32) {
	n := &s.nodes[i]
	l := &s.conns[n.get]
	l.head = n.nextReceiver
	l.slotsHeld -= s.size(i)
	if l.head == none {
		l.tail = none
	} else {
		s.offer(l.head)
	}
	s.readmit(l)
}

// readmit offers the first instruction that a connection holds back again.
func (s *schedule) readmit(l *connState) {
	for _, h := range [2]*container.Heap{&l.heldSends, &l.heldHeads} {
		for {
			i, ok := h.Pop()
			if !ok {
				break
			}
			if n := &s.nodes[i]; n.done || !n.queued || n.put == none {
				continue // it was ordered, or split, in the meantime
			}
			s.ready.Push(i)
			break
		}
	}
}

// send puts i's message on its connection.
func (s *schedule) send(i int32) {
	n := &s.nodes[i]
	l := &s.conns[n.put]
	s.nodes[n.to].nextReceiver = none
	l.slotsHeld += s.size(i)
	if l.tail == none {
		l.head, l.tail = n.to, n.to
		s.offer(n.to)
	} else {
		s.nodes[l.tail].nextReceiver = n.to
		l.tail = n.to
	}
	s.readmit(l)
}

// release decrements the counts of the instructions that wait for i, and offers
// those that may be ready now.
func (s *schedule) release(i int32) {
	for _, x := range s.succs.row(i) {
		n := &s.nodes[x]
		n.unordered--
		if n.unordered != 0 {
			continue
		}
		s.offer(x)
		if n.get != none {
			s.offer(n.from)
		}
	}
}
