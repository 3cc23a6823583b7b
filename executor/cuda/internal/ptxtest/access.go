package ptxtest

import (
	"strconv"
	"strings"
)

// access is a load or store with its modifiers.
type access struct {
	space    string // "": generic
	strength string // "": plain; volatile, relaxed, acquire
	system   bool   // scope
	t        kind
	vector   int
	slots    []int
	wide     []kind // of the registers
	base     int    // slot of the address
	offset   uint64
	atomic   bool
}

func (a *access) bytes() int { return a.vector * a.t.bits / 8 }

// strengths are the modifiers for memory order, by instruction.
var strengths = map[string][]string{"ld": {"volatile", "relaxed", "acquire"}, "st": {"volatile", "relaxed"}}

// access parses ld and st.
func (p *parser) access(i *instruction, args []operand) {
	p.count(i, args, 2)
	parts := strings.Split(i.name, ".")
	op := parts[0]
	a := p.modified(i, op, parts[1:])
	value, where := args[0], args[1]
	if op == "st" {
		value, where = where, value
	}
	if !where.memory {
		p.fail("%s: want an address in brackets", i.name)
	}
	p.values(i, &a, value, op == "ld")
	if a.space == "param" {
		if r, ok := p.lookUp(where.text); ok && !strings.HasPrefix(where.text, "%") {
			p.argument(i, &a, r, where, op == "ld")
			return
		}
		if op == "st" {
			p.fail("%s to a kernel's parameter", i.name)
		}
	}
	p.place(&a, where)
	p.carryOut(i, &a, op)
}

// modified returns the access of an instruction's modifiers, the further parts of its
// name.
func (p *parser) modified(i *instruction, op string, parts []string) access {
	take := func(all ...string) string {
		for _, one := range all {
			if len(parts) > 0 && parts[0] == one {
				parts = parts[1:]
				return one
			}
		}
		return ""
	}
	a := access{vector: 1}
	a.strength = take(strengths[op]...)
	if a.strength == "relaxed" || a.strength == "acquire" {
		scope := take("gpu", "sys")
		a.system = scope == "sys"
		if scope == "" {
			p.fail("%s has no scope that is known here", i.name)
		}
	}
	a.system = a.system || a.strength == "volatile"
	a.space = take("global", "shared", "local", "param")
	if a.strength != "" && a.space != "global" {
		p.fail("%s is not known here", i.name)
	}
	switch take("v2", "v4") {
	case "v2":
		a.vector = 2
	case "v4":
		a.vector = 4
	}
	if len(parts) != 1 {
		p.fail("%s is not known here", i.name)
	}
	a.t = p.kindOf(i, "."+parts[0])
	if a.t.is == 'p' || a.bytes() > 16 {
		p.fail("%s is not known here", i.name)
	}
	return a
}

// carryOut sets how threads execute an access: each by itself, but for volatile
// accesses of 16 bytes, which the hardware may split or merge.
func (p *parser) carryOut(i *instruction, a *access, op string) {
	move := (*thread).load
	if op == "st" {
		move = (*thread).store
	}
	switch {
	case a.strength == "volatile" && a.vector == 4 && a.t.bits == 32:
		p.halves(i, *a, move)
	case a.strength == "volatile" && a.bytes() == 16 && i.guard < 0:
		i.together = func(g *group) {
			g.wholeLines(a)
			for _, t := range g.lanes {
				g.now = t
				move(t, a, a.slots, a.address(t))
			}
			g.pc++
		}
	default:
		i.each = func(t *thread) { move(t, a, a.slots, a.address(t)) }
	}
}

// wholeLines faults if threads access only a part of a line of 128 bytes, 16 bytes
// each: the hardware moves a line in one piece only if they access all of it
// together.
func (g *group) wholeLines(a *access) {
	if !g.machine().WholeLines {
		return
	}
	lines := map[uint64]int{}
	for _, t := range g.lanes {
		g.now = t
		lines[a.address(t)/lineBytes] += a.bytes()
	}
	for _, n := range lines {
		if n != lineBytes {
			g.fail("an access of %d bytes of a line of %d", n, lineBytes)
		}
	}
}

// values sets the registers that a load writes or a store reads, which may be wider than
// the type.
func (p *parser) values(i *instruction, a *access, value operand, written bool) {
	all := []operand{value}
	if a.vector > 1 {
		all = value.all
	}
	if len(all) != a.vector {
		p.fail("%s of %d registers: want %d", i.name, len(all), a.vector)
	}
	for _, o := range all {
		r, ok := p.lookUp(o.text)
		switch {
		case ok && r.bits < a.t.bits:
			p.fail("%s has %d bits: want %d at least", o.text, r.bits, a.t.bits)
		case ok:
			a.slots, a.wide = append(a.slots, r.slot), append(a.wide, kind{'b', r.bits})
		case written:
			p.fail("%q is no register", o.text)
		default:
			a.slots, a.wide = append(a.slots, p.constant(p.literal(o.text, a.t.bits))), append(a.wide, a.t)
		}
	}
}

// place sets the address of an access: a register or a variable, and an offset.
func (p *parser) place(a *access, where operand) {
	a.offset = uint64(where.offset)
	if at, ok := p.address(where.text); ok {
		a.base = p.constant(uint64(at))
		return
	}
	if _, err := strconv.Atoi(where.text); err == nil {
		p.fail("an address that is a number: %s", where.text)
	}
	a.base = p.register(operand{text: where.text}, 64)
}

// argument accesses a parameter of a call, which is in the frame: in the caller,
// or in the called function.
func (p *parser) argument(i *instruction, a *access, r register, where operand, load bool) {
	if where.offset != 0 || a.vector != 1 || a.t.bits > r.bits {
		p.fail("%s: want all of %s, of %d bits", i.name, where.text, r.bits)
	}
	slot, own := r.slot, a.slots[0]
	if load {
		i.each = func(t *thread) { t.r[own], t.known[own] = a.wide[0].cut(a.t.wide(t.r[slot])), t.known[slot] }
	} else {
		i.each = func(t *thread) { t.r[slot], t.known[slot] = a.t.cut(t.r[own]), t.known[own] }
	}
}

// halves makes the two accesses of a line of LL, in either order: the hardware promises
// only that each word comes with its own flag.
func (p *parser) halves(i *instruction, a access, access func(*thread, *access, []int, uint64)) {
	half := a
	half.vector, half.wide = 2, a.wide[:2]
	aligned := func(t *thread) uint64 {
		at := a.address(t)
		t.aligned(at, 16)
		return at
	}
	first := *i
	first.each = func(t *thread) {
		t.second = uint64(t.block.grid.machine.random.IntN(2))
		at := aligned(t) + 8*t.second
		access(t, &half, a.slots[2*t.second:][:2], at)
	}
	p.f.code = append(p.f.code, first)
	i.each = func(t *thread) {
		other := 1 - t.second
		access(t, &half, a.slots[2*other:][:2], aligned(t)+8*other)
	}
}

// address returns the address of a thread's access.
func (a *access) address(t *thread) uint64 {
	if t.known[a.base] == 0 {
		panic(fault("an address that was never written"))
	}
	return t.r[a.base] + a.offset
}

// atomic is atom.relaxed.gpu.global: add and compare-and-swap.
func (p *parser) atomic(i *instruction, args []operand) {
	var t kind
	var f func(old, a, b uint64) uint64
	switch i.name {
	case "atom.relaxed.gpu.global.add.u64":
		t, f = kind{'u', 64}, func(old, a, _ uint64) uint64 { return old + a }
	case "atom.relaxed.gpu.global.cas.b32":
		t, f = kind{'b', 32}, func(old, a, b uint64) uint64 {
			if old == a {
				return b
			}
			return old
		}
	default:
		p.fail("%s is not known here", i.name)
	}
	swap := strings.Contains(i.name, ".cas.")
	want := 3
	if swap {
		want = 4
	}
	p.count(i, args, want)
	d, x := p.register(args[0], t.bits), p.value(args[2], t.bits)
	y := x
	if swap {
		y = p.value(args[3], t.bits)
	}
	a := access{space: "global", strength: "relaxed", atomic: true, t: t, vector: 1, slots: []int{d}, wide: []kind{t}}
	p.place(&a, args[1])
	i.each = func(th *thread) {
		if th.known[x]&th.known[y] == 0 {
			panic(fault("an atomic operation on what was never written"))
		}
		at := a.address(th)
		one, other := th.r[x], th.r[y]
		th.load(&a, a.slots, at)
		old := th.r[d]
		th.r[d] = t.cut(f(old, one, other))
		th.store(&a, a.slots, at)
		th.r[d] = old
	}
}

func (p *parser) fence(i *instruction, args []operand) {
	p.count(i, args, 0)
	if i.name != "fence.acq_rel.gpu" && i.name != "fence.acq_rel.sys" {
		p.fail("%s is not known here", i.name)
	}
	i.each = func(t *thread) { t.block.fence() }
}
