package compiler

// unblock makes an instruction ready when none is.
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
		i, ok := s.begins.pop()
		if !ok {
			break
		}
		if n := &s.nodes[i]; n.queued && !n.done {
			if s.lines[n.put].held+s.size(i) <= s.u.opt.Slots {
				s.commit(i) // giving up the spare slot
				return true
			}
		}
	}
	for {
		i, ok := s.passes.pop()
		if !ok {
			break
		}
		if n := &s.nodes[i]; !n.done && n.fused != none && s.lines[n.get].head == i {
			s.part(i)
			return true
		}
	}
	i, ok := s.parked.pop()
	if !ok {
		return false
	}
	s.ready.push(i)
	if b := s.broken(i); b != none {
		if s.nodes[b].get == none {
			return false
		}
		s.part(b)
	}
	return true
}

// stream orders i and its whole chain at once.
func (s *schedule) stream(i int32) {
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

// broken returns the instruction at which a chain beginning with i cannot proceed
// at once, or none.
func (s *schedule) broken(i int32) int32 {
	u := s.u
	passed := map[int32]bool{}
	rank := func(i int32) int32 { return u.ins[u.ranked[i]].rank }
	for {
		n := &s.nodes[i]
		if n.put == none {
			return none
		}
		y := n.to
		passed[rank(i)] = true
		if s.lines[n.put].head != none || s.nodes[y].open != 0 || passed[rank(y)] {
			return i
		}
		i = y
	}
}

// part splits a fused instruction.
func (s *schedule) part(a int32) {
	b := s.nodes[a].fused
	s.u.split(s.u.ranked[a])
	s.lookAt(s.u.ranked[a])
	s.lookAt(s.u.ranked[b])
	s.nodes[s.nodes[b].to].from = b
	s.left++
	s.nodes[a].queued = false
	s.offer(a)
}
