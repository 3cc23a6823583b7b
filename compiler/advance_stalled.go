package compiler

// advanceStalled makes an instruction ready when none is. It retries parked
// sends, then lets a chain use the spare slot, then splits a fused instruction.
// It reports whether the order can proceed.
func (s *schedule) advanceStalled() bool {
	if s.progressed && len(s.parked) > 0 {
		s.progressed = false
		for _, i := range s.parked {
			s.ready.Push(i)
		}
		s.parked = s.parked[:0]
		return true
	}
	for {
		i, ok := s.heldHeads.Pop()
		if !ok {
			break
		}
		if n := &s.nodes[i]; n.queued && !n.done {
			if s.conns[n.put].slotsHeld+s.size(i) <= s.prog.opt.Slots {
				s.commit(i) // giving up the spare slot
				return true
			}
		}
	}
	for {
		i, ok := s.heldSends.Pop()
		if !ok {
			break
		}
		if n := &s.nodes[i]; !n.done && n.fused != none && s.conns[n.get].head == i {
			s.splitFused(i)
			return true
		}
	}
	i, ok := s.parked.Pop()
	if !ok {
		return false
	}
	s.ready.Push(i)
	if b := s.chainBreak(i); b != none {
		if s.nodes[b].get == none {
			return false
		}
		s.splitFused(b)
	}
	return true
}

// commitChain orders i and the rest of its chain, with nothing in between.
func (s *schedule) commitChain(i int32) {
	for {
		n := &s.nodes[i]
		last, to := n.put == none, n.to
		s.commit(i)
		if last {
			return
		}
		i = to
	}
}

// chainBreak returns the instruction at which a chain that begins with i cannot
// proceed at once, or none.
func (s *schedule) chainBreak(i int32) int32 {
	prog := s.prog
	passed := map[int32]bool{}
	rank := func(i int32) int32 { return prog.ins[prog.ranked[i]].rank }
	for {
		n := &s.nodes[i]
		if n.put == none {
			return none
		}
		y := n.to
		passed[rank(i)] = true
		if s.conns[n.put].head != none || s.nodes[y].unordered != 0 || passed[rank(y)] {
			return i
		}
		i = y
	}
}

// splitFused splits a fused instruction and offers its two halves.
func (s *schedule) splitFused(a int32) {
	b := s.nodes[a].fused
	s.prog.split(s.prog.ranked[a])
	s.refresh(s.prog.ranked[a])
	s.refresh(s.prog.ranked[b])
	s.nodes[s.nodes[b].to].from = b
	s.left++
	s.nodes[a].queued = false
	s.offer(a)
}
