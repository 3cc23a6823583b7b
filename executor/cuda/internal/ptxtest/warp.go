package ptxtest

import (
	"fmt"
	"slices"
)

// thread is one of a block.
type thread struct {
	index int // in its block
	block *block

	r     []uint64 // the frame of the function it is in
	known []byte   // 1: the slot was written
	calls []frame  // those below

	local, localKnown []byte
	stack             int // address of the frame's local memory
	second            uint64
}

// frame is a caller's state, which a call saves.
type frame struct {
	r     []uint64
	known []byte
	stack int
}

// group is threads of a warp that run in step: at the same instruction, with the
// same callers.
type group struct {
	warp   *warp
	lanes  []*thread
	now    *thread // whose turn it is
	f      *function
	pc     int
	below  []place
	waits  *meeting // what it waits for
	ready  int      // in the machine's list of those that can run; -1: it waits
	lately int      // the line of the last instruction
}

type place struct {
	f        *function
	pc       int
	returned int // slot of the caller's that takes the result
}

// meeting is the instruction of a barrier or a vote.
type meeting struct {
	line     int
	block    bool // of the block, or of the warp
	joins    bool // gives whether any came with the predicate
	from, to int
}

type warp struct {
	threads int
	block   *block
	groups  []*group
}

func (g *group) fail(format string, args ...any) { panic(fault(fmt.Sprintf(format, args...))) }

// run runs a group for n instructions, or until it waits or ends.
func (g *group) run(most int) (ran int) {
	covered := g.machine().Covered
	for ran < most {
		i := &g.f.code[g.pc]
		g.lately = i.line
		if i.line < len(covered) {
			covered[i.line] = true
		}
		ran++
		if i.together != nil {
			i.together(g)
			if g.ready < 0 {
				return ran
			}
			continue
		}
		for _, t := range g.lanes {
			g.now = t
			if i.guard < 0 || g.taken(i, t) {
				i.each(t)
			}
		}
		g.pc++
	}
	return ran
}

// taken reports whether a thread's predicate lets it execute an instruction.
func (g *group) taken(i *instruction, t *thread) bool {
	if t.known[i.guard] == 0 {
		g.fail("a predicate that was never written")
	}
	return (t.r[i.guard] != 0) != i.unless
}

func (p *parser) branch(i *instruction, args []operand) {
	p.count(i, args, 1)
	if i.name != "bra" && i.name != "bra.uni" {
		p.fail("%s is not known here", i.name)
	}
	guard, to := *i, new(int)
	p.targets = append(p.targets, target{args[0].text, i.line, to})
	i.together = func(g *group) {
		if guard.guard < 0 {
			g.pc = *to
			return
		}
		goes := 0
		for _, t := range g.lanes {
			g.now = t
			if g.taken(&guard, t) {
				goes++
			}
		}
		switch goes {
		case 0:
			g.pc++
		case len(g.lanes):
			g.pc = *to
		default:
			g.part(&guard, *to)
		}
	}
}

// target is a branch whose destination is known once the whole function has been
// read.
type target struct {
	label string
	line  int
	to    *int
}

// resolve fills in the destinations of a function's branches.
func (p *parser) resolve() {
	for _, t := range p.targets {
		at, ok := p.f.labels[t.label]
		if !ok {
			panic(&Error{t.line, "no label " + t.label})
		}
		*t.to = at
	}
	p.targets = nil
}

// part splits a group at a branch that only some of its threads take.
func (g *group) part(guard *instruction, target int) {
	other := &group{warp: g.warp, f: g.f, pc: target, below: slices.Clone(g.below)}
	stay := g.lanes[:0:0]
	for _, t := range g.lanes {
		if g.taken(guard, t) {
			other.lanes = append(other.lanes, t)
		} else {
			stay = append(stay, t)
		}
	}
	g.lanes = stay
	g.pc++
	g.warp.groups = append(g.warp.groups, other)
	g.machine().makeReady(other)
}

func (g *group) machine() *Machine { return g.warp.block.grid.machine }

// call decodes call.uni. Parameters are slots of the caller's frame.
func (p *parser) call(i *instruction, args []operand) {
	if i.name != "call.uni" && i.name != "call" {
		p.fail("%s is not known here", i.name)
	}
	var results, given []operand
	if len(args) > 0 && args[0].text == "(" {
		results, args = args[0].all, args[1:]
	}
	if len(args) == 2 && args[1].text == "(" {
		given, args = args[1].all, args[:1]
	}
	if len(args) != 1 {
		p.fail("a call of %d operands", len(args))
	}
	f := p.m.functions[args[0].text]
	if f == nil || f.kernel {
		p.fail("%s is no function that was declared", args[0].text)
	}
	if len(given) != len(f.arguments) || len(results) != 0 && len(results) != 1 || (len(results) == 1) != (f.returned >= 0) {
		p.fail("%s called with %d arguments and %d results", f.name, len(given), len(results))
	}
	returned := -1
	if len(results) == 1 {
		r, ok := p.lookUp(results[0].text)
		if !ok {
			p.fail("%q was not declared", results[0].text)
		}
		returned = r.slot
	}
	slots := make([]int, len(given))
	for k, o := range given {
		r, ok := p.lookUp(o.text)
		if !ok {
			p.fail("%q was not declared", o.text)
		}
		slots[k] = r.slot
	}
	i.together = func(g *group) {
		for _, t := range g.lanes {
			g.now = t
			caller := frame{t.r, t.known, t.stack}
			t.stack = roundUp(t.stack+g.f.localBytes, 16)
			t.calls = append(t.calls, caller)
			t.enter(f)
			for k, s := range slots {
				t.r[f.arguments[k]], t.known[f.arguments[k]] = caller.r[s], caller.known[s]
			}
		}
		g.below = append(g.below, place{g.f, g.pc + 1, returned})
		g.f, g.pc = f, 0
	}
}

// enter gives a thread the frame of a function, in which only constants are written.
func (t *thread) enter(f *function) {
	pool := t.block.grid.machine.frames[f]
	if n := len(pool); n > 0 {
		t.r, t.known = pool[n-1].r, pool[n-1].known
		t.block.grid.machine.frames[f] = pool[:n-1]
	} else {
		t.r, t.known = make([]uint64, f.slots), make([]byte, f.slots)
		for _, c := range f.constants {
			t.r[c.slot] = c.value
		}
	}
	copy(t.known, f.known)
	if end := t.stack - localBase + f.localBytes; end > localSpace {
		panic(fault(fmt.Sprintf("calls take %d bytes of local memory: want %d at most", end, localSpace)))
	} else if end > len(t.local) {
		t.local = append(t.local, make([]byte, end-len(t.local))...)
		t.localKnown = append(t.localKnown, make([]byte, end-len(t.localKnown))...)
	}
	clear(t.localKnown[t.stack-localBase:])
}

// leave is ret: it returns to the caller, or ends the thread.
func (g *group) leave() {
	m := g.machine()
	if len(g.below) == 0 {
		for _, t := range g.lanes {
			m.frames[g.f] = append(m.frames[g.f], frame{r: t.r, known: t.known})
			t.r, t.known = nil, nil
		}
		g.warp.groups = slices.DeleteFunc(g.warp.groups, func(o *group) bool { return o == g })
		m.makeUnready(g)
		for _, o := range g.warp.groups {
			if o.waits != nil {
				g.fail("threads of a warp end while others of it wait, at line %d", o.waits.line)
			}
		}
		b := g.warp.block
		b.gone += len(g.lanes)
		if b.waiting > 0 {
			g.fail("threads of a block end while others of it wait at a barrier")
		}
		if b.gone == b.grid.threads {
			b.fence()
			b.grid.running--
		}
		return
	}
	back := g.below[len(g.below)-1]
	g.below = g.below[:len(g.below)-1]
	for _, t := range g.lanes {
		callee := frame{r: t.r, known: t.known}
		caller := t.calls[len(t.calls)-1]
		t.calls = t.calls[:len(t.calls)-1]
		t.r, t.known, t.stack = caller.r, caller.known, caller.stack
		if back.returned >= 0 {
			t.r[back.returned], t.known[back.returned] = callee.r[g.f.returned], callee.known[g.f.returned]
		}
		m.frames[g.f] = append(m.frames[g.f], callee)
	}
	g.f, g.pc = back.f, back.pc
}
