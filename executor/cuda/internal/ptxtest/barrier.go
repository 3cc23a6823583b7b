package ptxtest

// barrier decodes bar: of the block or of the warp.
func (p *parser) barrier(i *instruction, args []operand) {
	m := &meeting{line: i.line}
	switch i.name {
	case "bar.sync":
		p.count(i, args, 1)
		p.barrierNumber(i, args[0])
		m.block = true
	case "bar.red.or.pred":
		p.count(i, args, 3)
		p.barrierNumber(i, args[1])
		m.block, m.joins, m.to, m.from = true, true, p.register(args[0], 1), p.register(args[2], 1)
	case "bar.warp.sync":
		p.count(i, args, 1)
		p.wholeWarp(i, args[0])
	default:
		p.fail("%s is not known here", i.name)
	}
	i.together = func(g *group) { g.meet(m) }
}

func (p *parser) vote(i *instruction, args []operand) {
	if i.name != "vote.sync.any.pred" {
		p.fail("%s is not known here", i.name)
	}
	p.count(i, args, 3)
	p.wholeWarp(i, args[2])
	m := &meeting{line: i.line, joins: true, to: p.register(args[0], 1), from: p.register(args[1], 1)}
	i.together = func(g *group) { g.meet(m) }
}

func (p *parser) barrierNumber(i *instruction, o operand) {
	if o.text != "0" {
		p.fail("%s of barrier %s: only 0 is known here", i.name, o.text)
	}
}

func (p *parser) wholeWarp(i *instruction, o operand) {
	if p.literal(o.text, 32) != 1<<32-1 {
		p.fail("%s of the threads %s: only whole warps are known here", i.name, o.text)
	}
}

// meet makes a group wait until all threads have reached the barrier.
func (g *group) meet(m *meeting) {
	if m.joins {
		for _, t := range g.lanes {
			g.now = t
			if t.known[m.from] == 0 {
				g.fail("a predicate that was never written")
			}
		}
	}
	g.waits = m
	g.machine().makeUnready(g)
	if !m.block {
		g.warp.meet()
		return
	}
	b := g.warp.block
	for _, o := range g.warp.groups {
		if o.waits != nil && !o.waits.block {
			g.fail("some of a warp wait at the warp's barrier of line %d, others at the block's", o.waits.line)
		}
	}
	if b.gone > 0 {
		g.fail("a barrier that %d of the block's threads will never come to", b.gone)
	}
	b.waiting += len(g.lanes)
	if b.waiting == b.grid.threads {
		b.meet()
	}
}

// warpThreads is the number of threads of a warp.
const warpThreads = 32

// meet releases the warp if all its threads have reached the barrier.
func (w *warp) meet() {
	came := 0
	for _, g := range w.groups {
		if g.waits == nil {
			continue
		}
		if g.waits.block {
			g.fail("some of a warp wait at the block's barrier of line %d, others at the warp's", g.waits.line)
		}
		came += len(g.lanes)
	}
	if w.threads != warpThreads {
		w.groups[0].fail("a meeting of %d threads in a warp of %d", warpThreads, w.threads)
	}
	if w.block.gone > 0 {
		here := 0
		for _, g := range w.groups {
			here += len(g.lanes)
		}
		if here != warpThreads {
			w.groups[0].fail("a meeting of a warp of which some threads have ended")
		}
	}
	if came == warpThreads {
		w.merge(w.any())
	}
}

// any reports whether the predicate of any thread of the warp is set.
func (w *warp) any() bool {
	any := false
	for _, g := range w.groups {
		if g.waits.joins {
			for _, t := range g.lanes {
				any = any || t.r[g.waits.from] != 0
			}
		}
	}
	return any
}

// meet releases the block if all its threads have reached the barrier. It must be of the
// same kind for all.
func (b *block) meet() {
	b.waiting = 0
	any := false
	joins := b.warps[0].groups[0].waits.joins
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.waits.joins != joins {
				g.fail("a barrier that gives a result, at line %d, meets one that gives none", g.waits.line)
			}
		}
		any = w.any() || any
	}
	for _, w := range b.warps {
		w.merge(any)
	}
}

// merge makes one group of the threads of a warp, which must be at the same instruction
// with the same callers.
func (w *warp) merge(any bool) {
	first := w.groups[0]
	for _, g := range w.groups[1:] {
		if g.waits != first.waits || len(g.below) != len(first.below) {
			g.fail("threads of a warp meet at different instructions, of lines %d and %d", first.waits.line, g.waits.line)
		}
		first.lanes = append(first.lanes, g.lanes...)
	}
	w.groups = w.groups[:1]
	if first.waits.joins {
		v := uint64(0)
		if any {
			v = 1
		}
		for _, t := range first.lanes {
			t.r[first.waits.to], t.known[first.waits.to] = v, 1
		}
	}
	first.waits = nil
	first.pc++
	first.machine().makeReady(first)
}
