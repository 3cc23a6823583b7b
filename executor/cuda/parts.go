package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// part is a unit of work of an exchange: it computes a value from a chunk and from
// messages, stores it and sends it; or it moves several chunks with a message each. Its
// arms are the incoming messages, then the outgoing ones.
type part struct {
	does               partDoes
	src, dst           ir.Loc
	first, comes, goes int
}

// arm is one message: the step that moves it, and its chunk.
type arm struct {
	stepAt
	loc ir.Loc
}

// partsOf merges a rank's ordered steps into as few parts as possible, because the messages
// of one part are in flight together. ok is false if a chunk is added that was never
// received.
func partsOf(g *ir.GPU, order []stepAt) (parts []part, arms []arm, ok bool) {
	d := division{passing: passingOf(g), came: map[ir.Loc]arm{}}
	for _, at := range order {
		s := g.Threadblocks[at.threadblock].Steps[at.step]
		s.Src, s.Dst = s.Src.Normal(1), s.Dst.Normal(1)
		if !d.take(at, s) {
			return nil, nil, false
		}
	}
	return d.parts, d.arms, true
}

// division is the parts of a rank's steps under construction.
type division struct {
	parts   []part
	arms    []arm
	passing map[ir.Loc]bool
	came    map[ir.Loc]arm // messages of passing chunks, which a later step adds
}

// take adds a step to the last part, or begins another with it. It returns false if the
// step adds a chunk that has not been received.
func (d *division) take(at stepAt, s ir.Step) bool {
	last := d.last()
	switch {
	case s.Op == ir.Nop:
	case s.Op == ir.Recv && d.passing[s.Dst]:
		d.came[s.Dst] = arm{at, s.Dst}
	case s.Op == ir.Reduce && d.passing[s.Src]:
		message, ok := d.came[s.Src]
		if !ok {
			return false
		}
		if !last.sums(s.Dst) || last.does&partAdds != 0 {
			d.begin(part{does: partReads | partWrites, src: s.Dst, dst: s.Dst})
		}
		d.comes(message)
	case s.Op == ir.Recv:
		if last.does != partApart || last.goes > 0 {
			d.begin(part{does: partApart})
		}
		d.comes(arm{at, s.Dst})
	case s.Op == ir.Send:
		switch {
		case last.isValue(s.Src), last.does == partApart && last.comes == 0:
		case last.does == partReads && last.comes == 0 && last.goes == 1: // becomes a part that goes chunk by chunk
			last.does = partApart
		default:
			d.begin(part{does: partReads, src: s.Src})
		}
		d.goes(arm{at, s.Src})
	case s.Op == ir.Reduce:
		d.begin(part{does: partReads | partAdds | partWrites, src: s.Src, dst: s.Dst})
	default:
		d.takeFused(at, s)
	}
	return true
}

// takeFused is take for a copy and for a fused receive. One that adds a message to a chunk
// in place may extend the sum of the last part.
func (d *division) takeFused(at stepAt, s ir.Step) {
	inPlace := s.Op.ReadsSrc() && s.Op.WritesDst() && s.Src == s.Dst
	last := d.last()
	if !inPlace || !s.Op.Receives() || !last.sums(s.Dst) || last.does&partAdds != 0 {
		one := part{src: s.Src, dst: s.Dst}
		if s.Op.ReadsSrc() {
			one.does |= partReads
		}
		if s.Op.WritesDst() {
			one.does |= partWrites
		}
		d.begin(one)
	}
	if s.Op.Receives() {
		d.comes(arm{stepAt: at})
	}
	if s.Op.Sends() {
		d.goes(arm{stepAt: at})
	}
}

// last returns the last part, or an empty one before the first.
func (d *division) last() *part {
	if len(d.parts) == 0 {
		return &part{}
	}
	return &d.parts[len(d.parts)-1]
}

func (d *division) begin(one part) {
	one.first = len(d.arms)
	d.parts = append(d.parts, one)
}

// comes and goes add a message to the last part.
func (d *division) comes(a arm) { d.arms, d.last().comes = append(d.arms, a), d.last().comes+1 }
func (d *division) goes(a arm)  { d.arms, d.last().goes = append(d.arms, a), d.last().goes+1 }

// sums reports whether a part computes a chunk that it has not sent yet.
func (p *part) sums(at ir.Loc) bool { return p.does&partWrites != 0 && p.dst == at && p.goes == 0 }

// isValue reports whether a part's value is the chunk's content afterwards.
func (p *part) isValue(at ir.Loc) bool {
	return p.does&partWrites != 0 && p.dst == at || p.does == partReads && p.comes == 0 && p.src == at
}

// passingOf returns the chunks of scratch that are received once and added to another chunk
// once. They need not be stored, because no other step reads them.
func passingOf(g *ir.GPU) map[ir.Loc]bool {
	type uses struct{ received, added, others int }
	all := map[ir.Loc]*uses{}
	of := func(at ir.Loc) *uses {
		if all[at] == nil {
			all[at] = &uses{}
		}
		return all[at]
	}
	for tb := range g.Threadblocks {
		for i := range g.Threadblocks[tb].Steps {
			s := &g.Threadblocks[tb].Steps[i]
			if s.Op.ReadsSrc() {
				if s.Op == ir.Reduce {
					of(s.Src.Normal(1)).added++
				} else {
					of(s.Src.Normal(1)).others++
				}
			}
			if s.Op.WritesDst() {
				if s.Op == ir.Recv {
					of(s.Dst.Normal(1)).received++
				} else {
					of(s.Dst.Normal(1)).others++
				}
			}
		}
	}
	passing := map[ir.Loc]bool{}
	for at, u := range all {
		passing[at] = at.Buf == collective.Scratch && *u == uses{1, 1, 0}
	}
	return passing
}
