package search

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// copyElision finds the local copies that the compiler will eliminate:
//
//	0 copy   rank 1 in[0] → rank 1 sc[0]      what reads sc[0] reads in[0] (pass propagate copies)
//	1 copy   rank 1 sc[0] → rank 0 sc[0]
//
//	0 copy   rank 1 in[0] → rank 1 out[0]     what arrives is added to in[0] (the same)
//	1 reduce rank 0 in[0] → rank 1 out[0]
//
//	0 reduce rank 0 in[0] → rank 1 sc[0]      the sum is left in out[0] (pass sink copies)
//	1 copy   rank 1 sc[0] → rank 1 out[0]
//
// A message of several chunks stays one message: where its chunks are read or left
// elsewhere, they have to be evenly spaced there, and adjacent if they were.
type copyElision struct {
	program *lang.Program
	walk    walk
	wrote   chunkTable   // 1 + the last operation in the program that writes a chunk
	facts   chunkTable   // bits below
	holds   chunkTable   // 1 + the last operation so far that wrote a chunk
	origin  chunkTable   // the cell that a chunk is a copy of; 0: none
	moves   []delivering // by operation, for messages
	kept    []bool       // by operation: a copy that the compiler makes
}

// delivering says where the chunks that a message writes are copied to.
type delivering struct {
	first, step int32 // cell of the first chunk, and the distance to the next one's
	at, count   int32 // index of the first chunk that is copied, and the number of them
	not         bool  // the message cannot write there
}

// Facts about a chunk.
const (
	looked  = 1 << iota // the caller reads it: a result, or an input, which must not change
	again               // several operations write it
	touched             // an operation so far reads or writes it
	given               // its value is delivered elsewhere
	stays               // it is a copy of a chunk that nothing writes any more
)

// walk is one of the passes over the operations, each of which needs the one before.
type walk int

const (
	delivers walk = iota // where messages' chunks are copied to
	reads                // whether they can be read there
	keeps                // which copies are needed
	walks
)

// elidableCopies reports for each operation whether it is a copy that the compiler will
// eliminate.
func elidableCopies(p *lang.Program) []bool {
	free, some := make([]bool, len(p.Ops)), false
	for i := range p.Ops {
		free[i] = isCopy(&p.Ops[i])
		some = some || free[i]
	}
	if !some {
		return free
	}
	s := &copyElision{program: p, wrote: newChunkTable(p), facts: newChunkTable(p), moves: make([]delivering, len(p.Ops)), kept: make([]bool, len(p.Ops))}
	s.markChunks()
	for s.walk = range walks {
		s.holds, s.origin = newChunkTable(p), newChunkTable(p)
		for i := range p.Ops {
			s.pass(int32(i))
		}
		s.facts.mask(looked | again)
	}
	for i := range free {
		free[i] = free[i] && !s.kept[i]
	}
	return free
}

// isCopy reports whether an operation copies within a rank.
func isCopy(op *lang.Op) bool { return op.Kind != lang.Reduce && op.Src.Rank == op.Dst.Rank }

// markChunks finds the last writer of each chunk, and the chunks that the caller reads.
func (s *copyElision) markChunks() {
	for i := range s.program.Ops {
		dst := &s.program.Ops[i].Dst
		wrote, facts := s.wrote.of(dst), s.facts.of(dst)
		for n := range dst.Count {
			at := dst.Index + n*dst.Stride
			if wrote[at] > 0 {
				facts[at] |= again
			}
			wrote[at] = int32(i) + 1
		}
	}
	c := &s.program.Collective
	for r, buffers := range s.facts {
		mark := func(b collective.Buffer, at int) {
			if b, at = c.Place(r, b, at); int(b) < len(buffers) && at < len(buffers[b]) {
				buffers[b][at] |= looked
			}
		}
		for at := range c.OutChunks(r) {
			if c.Want(r, at).Kind != collective.WantNothing {
				mark(collective.Out, at)
			}
		}
		for at := range c.InChunks(r) {
			mark(collective.In, at)
		}
	}
}

// pass records what an operation writes, and keeps the copies that it needs.
func (s *copyElision) pass(i int32) {
	op := &s.program.Ops[i]
	src, dst := &op.Src, &op.Dst
	if !isCopy(op) {
		s.reads(src)
	}
	if op.Kind == lang.Reduce {
		s.addsTo(dst, src.Rank == dst.Rank)
	}
	for n := range src.Count {
		origin, is := int32(0), int32(touched)
		if isCopy(op) {
			origin, is = s.copies(i, n)
		}
		at := dst.Index + n*dst.Stride
		facts := s.facts.of(dst)
		s.facts.of(src)[src.Index+n*src.Stride] |= touched
		facts[at] = facts[at]&(looked|again) | is
		s.holds.of(dst)[at], s.origin.of(dst)[at] = i+1, origin
	}
}

// cell returns a number for a chunk among those of its rank, from 1.
func cell(s *lang.Span, at int32) int32 { return int32(s.Buf)<<29 + at + 1 }

// copies returns the cell that the n-th chunk of a copy comes from, 0 if a message
// writes it there at once, and the facts about it.
func (s *copyElision) copies(i, n int32) (origin, is int32) {
	src, dst := &s.program.Ops[i].Src, &s.program.Ops[i].Dst
	from, to := src.Index+n*src.Stride, dst.Index+n*dst.Stride
	facts, left := s.facts.of(src), s.facts.of(dst)[to]
	by, last := s.holds.of(src)[from]-1, s.wrote.of(src)[from] <= i // it stays there
	if s.arrives(by) && facts[from]&given == 0 && !(last && facts[from]&looked != 0) && left&(again|touched) == 0 {
		facts[from] |= given
		if s.walk == delivers {
			s.deliver(by, from, cell(dst, to))
		}
		if s.delivered(by) {
			return 0, touched // it is there, and nothing is copied
		}
	}
	if left&looked != 0 && s.wrote.of(dst)[to] == i+1 {
		s.keep(i)
	}
	switch origin = s.origin.of(src)[from]; {
	case origin > 0 && facts[from]&stays != 0:
		return origin, touched | stays
	case origin > 0:
		s.keep(by)
	}
	if last && src.Buf != collective.Scratch {
		return cell(src, from), touched | stays
	}
	return cell(src, from), touched
}

// keep records that the compiler makes a copy.
func (s *copyElision) keep(i int32) {
	if s.walk == keeps {
		s.kept[i] = true
	}
}

// arrives reports whether an operation is a message.
func (s *copyElision) arrives(i int32) bool {
	return i >= 0 && s.program.Ops[i].Src.Rank != s.program.Ops[i].Dst.Rank
}

// deliver records that a chunk that a message writes is copied to a cell.
func (s *copyElision) deliver(i, chunk, to int32) {
	dst, m := &s.program.Ops[i].Dst, &s.moves[i]
	at := (chunk - dst.Index) / max(dst.Stride, 1)
	switch m.count++; {
	case m.count == 1:
		m.at, m.first = at, to
	case m.count == 2:
		m.step = (to - m.first) / (at - m.at)
		m.first -= m.at * m.step
		fallthrough
	default:
		m.not = m.not || m.first+at*m.step != to
	}
}

// delivered reports whether a message writes all its chunks where they are copied to.
func (s *copyElision) delivered(i int32) bool {
	if s.walk == delivers || !s.arrives(i) {
		return false
	}
	dst, m := &s.program.Ops[i].Dst, &s.moves[i]
	return !m.not && m.count == dst.Count && (m.count == 1 || m.step == 1 || m.step > 0 && dst.Stride > 1)
}

// reads keeps the copies that an operation needs to find what it reads in one place.
func (s *copyElision) reads(span *lang.Span) {
	one := s.together(span)
	held, facts, origins := s.holds.of(span), s.facts.of(span), s.origin.of(span)
	for n := range span.Count {
		at := span.Index + n*span.Stride
		switch by := held[at] - 1; {
		case by < 0:
		case origins[at] > 0 && !(one && facts[at]&stays != 0):
			s.keep(by)
		case !one && s.walk == reads && s.delivered(by):
			s.moves[by].not = true
		}
	}
}

// addsTo keeps the copies that a reduction needs to find what it adds to: within a rank
// in the place where the sum is left.
func (s *copyElision) addsTo(span *lang.Span, local bool) {
	one := s.together(span)
	held, origins := s.holds.of(span), s.origin.of(span)
	for n := range span.Count {
		at := span.Index + n*span.Stride
		switch by := held[at] - 1; {
		case by < 0:
		case origins[at] > 0 && (local || !one):
			s.keep(by)
		case (local || !one) && s.walk == reads && s.delivered(by):
			s.moves[by].not = true
		}
	}
}

// together reports whether the chunks of a span still are one span, once copies are read
// at their origin and deliveries at their destination.
func (s *copyElision) together(span *lang.Span) bool {
	if span.Count == 1 {
		return true
	}
	held, origins := s.holds.of(span), s.origin.of(span)
	place := func(n int32) int32 {
		at := span.Index + n*span.Stride
		if by := held[at] - 1; s.delivered(by) {
			dst, m := &s.program.Ops[by].Dst, &s.moves[by]
			return m.first + (at-dst.Index)/max(dst.Stride, 1)*m.step
		}
		if origins[at] > 0 {
			return origins[at]
		}
		return cell(span, at)
	}
	first := place(0)
	step := place(1) - first
	if step < 1 || span.Stride == 1 && step > 1 {
		return false
	}
	for n := int32(2); n < span.Count; n++ {
		if place(n) != first+n*step {
			return false
		}
	}
	return true
}

// chunkTable holds a number for each chunk of the buffers that a program touches.
type chunkTable [][][]int32 // by rank, buffer and chunk

// newChunkTable makes a table of zeros.
func newChunkTable(p *lang.Program) chunkTable {
	var sizes [][]int32
	for i := range p.Ops {
		for _, s := range [2]*lang.Span{&p.Ops[i].Src, &p.Ops[i].Dst} {
			for int(s.Rank) >= len(sizes) {
				sizes = append(sizes, nil)
			}
			of := &sizes[s.Rank]
			for int(s.Buf) >= len(*of) {
				*of = append(*of, 0)
			}
			(*of)[s.Buf] = max((*of)[s.Buf], s.Index+(s.Count-1)*s.Stride+1)
		}
	}
	all := make(chunkTable, len(sizes))
	for rank, of := range sizes {
		all[rank] = make([][]int32, len(of))
		for buffer, n := range of {
			all[rank][buffer] = make([]int32, n)
		}
	}
	return all
}

// of returns the numbers of a span's buffer.
func (p chunkTable) of(s *lang.Span) []int32 { return p[s.Rank][s.Buf] }

// mask clears all but some bits of every number.
func (p chunkTable) mask(bits int32) {
	for _, of := range p {
		for _, numbers := range of {
			for i := range numbers {
				numbers[i] &= bits
			}
		}
	}
}
