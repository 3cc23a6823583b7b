package emulate

import "strings"

// timeline is a group's clock, and the times at which its registers can be read,
// with a frame for each function that it is in.
type timeline struct {
	now    clock
	frames [][]clock
	polled map[poll]int
}

// poll is a load that may have to be repeated until it finds what it waits for.
type poll struct {
	line int
	at   uint64
}

func newTimeline(begin int, f *function) *timeline {
	return &timeline{now: clock{at: begin}, frames: [][]clock{make([]clock, f.slots)}, polled: map[poll]int{}}
}

func (t *timeline) clone() *timeline {
	c := &timeline{now: t.now, polled: map[poll]int{}}
	for _, f := range t.frames {
		c.frames = append(c.frames, append([]clock(nil), f...))
	}
	for p, at := range t.polled {
		c.polled[p] = at
	}
	return c
}

func (t *timeline) top() []clock { return t.frames[len(t.frames)-1] }

// join puts a group that meets another at the time of the later one.
func (t *timeline) join(o *timeline) {
	t.now = later(t.now, o.now)
	for k := range t.frames {
		for s := range t.frames[k] {
			t.frames[k][s] = later(t.frames[k][s], o.frames[k][s])
		}
	}
}

// timedInstruction is what timing needs to know of an instruction.
type timedInstruction struct {
	reads, writes []int
	access        *access
	called        *function
	given         []int
	free          bool // it is a part of the next one
	renames       bool // it only renames halves of a register, or joins them
}

// noteTiming finds out which registers a statement reads and writes, for the
// instructions that decoding has made of it.
func (p *parser) noteTiming(i *instruction, args []operand, made []instruction) {
	var slots func(all []operand) []int
	slots = func(all []operand) (found []int) {
		for _, o := range all {
			if o.all != nil {
				found = append(found, slots(o.all)...)
			} else if r, ok := p.lookUp(o.text); ok {
				found = append(found, r.slot)
			}
		}
		return found
	}
	op, _, _ := strings.Cut(i.name, ".")
	switch {
	case op == "call":
	case op == "st" || op == "bra" || op == "ret" || op == "fence":
		i.timed.reads = slots(args)
		if op == "st" && !strings.HasPrefix(args[0].text, "%") { // a parameter of a call
			i.timed.writes = slots(args[:1])
		}
	case len(args) > 0:
		i.timed.writes, i.timed.reads = slots(args[:1]), slots(args[1:])
	}
	i.timed.renames = p.renames(i, op, args)
	if i.guard >= 0 {
		i.timed.reads = append(i.timed.reads, i.guard)
	}
	for k := range made {
		made[k].timed = i.timed
		made[k].timed.free = true
	}
}

// renames reports whether machine code has no such instruction. A register of 64
// bits is two of 32 there, so that taking a half needs no shift, and two halves
// need no joining.
func (p *parser) renames(i *instruction, op string, args []operand) bool {
	half := len(args) == 3 && args[2].text == "32"
	switch {
	case op == "mov" && !strings.HasSuffix(i.name, ".pred"):
		return true
	case i.name == "cvt.u32.u64" || i.name == "cvt.u64.u32":
		return true
	case i.name == "shr.u64" && half:
		return true
	case i.name == "shl.b64" && half:
		p.upper[i.timed.writes[0]] = true
		return true
	case i.name == "or.b64":
		for _, s := range i.timed.reads {
			if p.upper[s] {
				return true
			}
		}
	}
	return false
}

// issue accounts for an instruction.
func (g *group) issue(i *instruction) {
	m, t := g.machine(), g.time
	if i.timed.free {
		return
	}
	registers := t.top()
	if i.timed.renames { // and waits for nothing
		var done clock
		for _, s := range i.timed.reads {
			done = later(done, registers[s])
		}
		for _, s := range i.timed.writes {
			registers[s] = done
		}
		return
	}
	for _, s := range i.timed.reads {
		t.now = later(t.now, registers[s])
	}
	t.now.at += m.Costs.Issue
	t.now.issued++
	done := t.now
	op, kinds, _ := strings.Cut(i.name, ".")
	switch {
	case op == "bra" && i.guard < 0: // code is laid out so that it falls through
		t.now.at -= m.Costs.Issue
		t.now.issued--
	case op == "bra":
		t.now.at += m.Costs.Branch
	case op == "call":
		t.now.at += m.Costs.Call
		frame := make([]clock, i.timed.called.slots)
		for k, s := range i.timed.given {
			frame[i.timed.called.arguments[k]] = registers[s]
		}
		t.frames = append(t.frames, frame)
	case op == "ret":
		t.now.at += m.Costs.Call
		g.timeReturn()
	case op == "fence":
		b := g.warp.block
		t.now = later(t.now, b.seen).and(Fences, i.line, m.Costs.Fence)
		clear(b.near)
	case i.timed.access != nil && op == "ld":
		done = g.timeLoad(i)
	case i.timed.access != nil && op == "st", op == "bar", op == "vote": // accounted for where their effect is
	case op == "atom":
		done = done.and(Loads, i.line, m.Costs.Memory)
	case op == "ld" || op == "st": // parameters of calls are registers
		t.now.at -= m.Costs.Issue
		t.now.issued--
		done = t.now
	case op == "div" || op == "rem":
		done.at += 10 * m.Costs.Compute
	case strings.HasSuffix(kinds, "64"):
		t.now.at += m.Costs.Issue
		done.at += 2 * m.Costs.Compute
	default:
		done.at += m.Costs.Compute
	}
	for _, s := range i.timed.writes {
		registers[s] = done
	}
}

// timeReturn goes back to the caller, or notes that the kernel is left.
func (g *group) timeReturn() {
	t := g.time
	if len(g.below) == 0 {
		grid := g.warp.block.grid
		grid.end = later(grid.end, t.now)
		return
	}
	back := g.below[len(g.below)-1]
	callee := t.top()
	t.frames = t.frames[:len(t.frames)-1]
	if back.returned >= 0 {
		t.top()[back.returned] = callee[g.f.returned]
	}
}

// timeLoad is when a load's values are there. If an earlier attempt of a poll was
// in vain, that depends on who has stored them since.
func (g *group) timeLoad(i *instruction) clock {
	m, t, b, a := g.machine(), g.time, g.warp.block, i.timed.access
	far, polled, fetched := false, clock{}, 0
	for _, one := range g.lanes {
		g.now = one
		if i.guard >= 0 && !g.taken(i, one) || one.known[a.base] == 0 {
			continue
		}
		at := one.r[a.base] + a.offset
		space, _ := spaceOf(a, at)
		switch {
		case space == "param":
			return t.now
		case space == "shared":
			return t.now.and(Nearby, i.line, m.Costs.Shared)
		case space == "local":
			return t.now.and(Nearby, i.line, m.Costs.Near)
		case a.strength != "":
			far = true
			p := poll{i.line, at}
			if before, again := t.polled[p]; again {
				for word := at / 8; word <= (at+uint64(a.bytes())-1)/8; word++ {
					if stored := m.stored[word]; stored.at > before {
						polled = later(polled, stored)
					}
				}
			}
			t.polled[p] = t.now.at
		case b.near[at/lineBytes] == 0:
			far = true
			b.near[at/lineBytes] = t.now.at + m.Costs.Memory
		default:
			fetched = max(fetched, b.near[at/lineBytes])
		}
	}
	if a.strength == "acquire" {
		clear(b.near)
	}
	if polled.at > 0 {
		t.now = polled.and(Flags, i.line, t.now.at-polled.at)
	}
	switch {
	case far:
		return t.now.and(Loads, i.line, m.Costs.Memory)
	case fetched > t.now.at+m.Costs.Near: // already fetched for another
		return t.now.and(Loads, i.line, fetched-t.now.at)
	}
	return t.now.and(Nearby, i.line, m.Costs.Near)
}

// timeMeeting puts all of a block at the time of its last thread.
func (b *block) timeMeeting() {
	var last clock
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.time == nil {
				return
			}
			last = later(last, g.time.now)
		}
	}
	last = last.and(Meeting, b.warps[0].groups[0].lately, b.grid.machine.Costs.Block)
	for _, w := range b.warps {
		for _, g := range w.groups {
			g.time.now = last
		}
	}
}

func (w *warp) timeMeeting() {
	var last clock
	for _, g := range w.groups {
		if g.time == nil {
			return
		}
		last = later(last, g.time.now)
	}
	last = last.and(Meeting, w.groups[0].lately, w.block.grid.machine.Costs.Together)
	for _, g := range w.groups {
		g.time.now = last
	}
}
