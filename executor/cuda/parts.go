package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// part is something that an exchange does in one go: it computes a value from a
// chunk and from messages, stores it and sends it; or it handles several chunks
// with a message each. Of its arms, those for messages that come are first, then
// those for messages that go.
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

// partsOf makes as few parts as possible of a rank's steps in their order, because
// the messages of one part are on their way together. It is not ok if a chunk is
// added that was never received.
func partsOf(g *ir.GPU, order []stepAt) (parts []part, arms []arm, ok bool) {
	passing, came := passingOf(g), map[ir.Loc]arm{}
	for _, at := range order {
		s := g.Threadblocks[at.threadblock].Steps[at.step]
		s.Src, s.Dst = s.Src.Of(1), s.Dst.Of(1)
		last, n := &part{}, len(parts)
		if n > 0 {
			last = &parts[n-1]
		}
		begin := func(one part) {
			one.first = len(arms)
			parts = append(parts, one)
			last = &parts[len(parts)-1]
		}
		come := func(a arm) { arms, last.comes = append(arms, a), last.comes+1 }
		send := func(a arm) { arms, last.goes = append(arms, a), last.goes+1 }
		sum := func(at ir.Loc) bool { return last.does&partWrites != 0 && last.dst == at && last.goes == 0 }
		switch {
		case s.Op == ir.Nop:
		case s.Op == ir.Recv && passing[s.Dst]:
			came[s.Dst] = arm{at, s.Dst}
		case s.Op == ir.Reduce && passing[s.Src]:
			a, ok := came[s.Src]
			if !ok { // added before it has come
				return nil, nil, false
			}
			if !sum(s.Dst) || last.does&partAdds != 0 {
				begin(part{does: partReads | partWrites, src: s.Dst, dst: s.Dst})
			}
			come(a)
		case s.Op == ir.Recv:
			if last.does != partApart || last.goes > 0 {
				begin(part{does: partApart})
			}
			come(arm{at, s.Dst})
		case s.Op == ir.Send:
			switch {
			case last.isValue(s.Src), last.does == partApart && last.comes == 0:
			case last.does == partReads && last.comes == 0 && last.goes == 1: // becomes a part that goes chunk by chunk
				last.does = partApart
			default:
				begin(part{does: partReads, src: s.Src})
			}
			send(arm{at, s.Src})
		case s.Op == ir.Reduce:
			begin(part{does: partReads | partAdds | partWrites, src: s.Src, dst: s.Dst})
		default:
			if !s.Op.ReadsSrc() || !s.Op.WritesDst() || s.Src != s.Dst || !sum(s.Dst) || !s.Op.Receives() || last.does&partAdds != 0 {
				one := part{src: s.Src, dst: s.Dst}
				if s.Op.ReadsSrc() {
					one.does |= partReads
				}
				if s.Op.WritesDst() {
					one.does |= partWrites
				}
				begin(one)
			}
			if s.Op.Receives() {
				come(arm{stepAt: at})
			}
			if s.Op.Sends() {
				send(arm{stepAt: at})
			}
		}
	}
	return parts, arms, true
}

// isValue tells whether a part's value is what the chunk holds afterwards.
func (p *part) isValue(at ir.Loc) bool {
	return p.does&partWrites != 0 && p.dst == at || p.does == partReads && p.comes == 0 && p.src == at
}

// passingOf lists the chunks of scratch that are received once, and added to
// another chunk once. They need not be stored, because nothing else reads them.
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
					of(s.Src.Of(1)).added++
				} else {
					of(s.Src.Of(1)).others++
				}
			}
			if s.Op.WritesDst() {
				if s.Op == ir.Recv {
					of(s.Dst.Of(1)).received++
				} else {
					of(s.Dst.Of(1)).others++
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
