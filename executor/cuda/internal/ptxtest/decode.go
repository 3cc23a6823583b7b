package ptxtest

import (
	"math"
	"strconv"
	"strings"
)

// decode compiles an instruction to a function.
func (p *parser) decode(i *instruction, args []operand) {
	name, modifiers, _ := strings.Cut(i.name, ".")
	switch name {
	case "bra":
		p.branch(i, args)
	case "call":
		p.call(i, args)
	case "ret":
		p.count(i, args, 0)
		i.together = (*group).leave
	case "bar":
		p.barrier(i, args)
	case "vote":
		p.vote(i, args)
	case "fence":
		p.fence(i, args)
	case "atom":
		p.atomic(i, args)
	case "ld", "st":
		p.access(i, args)
	case "mov":
		p.move(i, args)
	case "cvta":
		p.count(i, args, 2)
		switch i.name {
		case "cvta.local.u64":
			p.apply(i, args, func(a, _, _ uint64) uint64 { return a + localWindow }, 64, 64)
		case "cvta.to.local.u64":
			p.apply(i, args, func(a, _, _ uint64) uint64 { return a - localWindow }, 64, 64)
		default:
			p.fail("%s is not known here", i.name)
		}
	case "cvt":
		p.convert(i, args, strings.Split(modifiers, "."))
	case "setp":
		p.compare(i, args, strings.Split(modifiers, "."))
	case "selp":
		p.choose(i, args, p.kindOf(i, "."+modifiers))
	default:
		p.compute(i, args)
	}
	if i.together != nil && i.guard >= 0 && name != "bra" {
		p.fail("%s under a predicate is not known here", i.name)
	}
}

func (p *parser) kindOf(i *instruction, name string) kind {
	t, ok := kinds[name]
	if !ok {
		p.fail("%s is not known here", i.name)
	}
	return t
}

func (p *parser) count(i *instruction, args []operand, want int) {
	if len(args) != want {
		p.fail("%s of %d operands: want %d", i.name, len(args), want)
	}
}

// register returns the slot of an operand that is written, whose width must match.
func (p *parser) register(o operand, bits int) int {
	r, ok := p.lookUp(o.text)
	if !ok || o.memory || o.all != nil {
		p.fail("%q is no register", o.text)
	}
	if r.bits != bits {
		p.fail("%s has %d bits: want %d", o.text, r.bits, bits)
	}
	return r.slot
}

// value returns the slot of an operand that is read: a register, or a constant.
func (p *parser) value(o operand, bits int) int {
	if _, ok := p.lookUp(o.text); ok || o.memory || o.all != nil {
		return p.register(o, bits)
	}
	return p.constant(p.literal(o.text, bits))
}

func (p *parser) constant(v uint64) int {
	for _, c := range p.f.constants {
		if c.value == v {
			return c.slot
		}
	}
	p.f.constants = append(p.f.constants, constant{p.f.slots, v})
	p.f.slots++
	return p.f.slots - 1
}

// literal returns the bits of a number.
func (p *parser) literal(text string, bits int) uint64 {
	if digits, ok := strings.CutPrefix(text, "0f"); ok && bits == 32 && len(digits) == 8 {
		if v, err := strconv.ParseUint(digits, 16, 32); err == nil {
			return v
		}
	}
	if digits, ok := strings.CutPrefix(text, "0d"); ok && bits == 64 && len(digits) == 16 {
		if v, err := strconv.ParseUint(digits, 16, 64); err == nil {
			return v
		}
	}
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return kind{'b', bits}.cut(uint64(v))
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil || bits < 64 && v > math.MaxUint32 {
		p.fail("%q is neither declared nor a number", text)
	}
	return v
}

// apply computes from up to three values; to and from are the widths of the
// registers.
func (p *parser) apply(i *instruction, args []operand, f func(a, b, c uint64) uint64, to int, from ...int) {
	d := p.register(args[0], to)
	slots := [3]int{}
	for k := range slots {
		if k < len(from) {
			slots[k] = p.value(args[1+k], from[k])
		} else {
			slots[k] = slots[0]
		}
	}
	a, b, c := slots[0], slots[1], slots[2]
	i.each = func(t *thread) {
		t.r[d] = f(t.r[a], t.r[b], t.r[c])
		t.known[d] = t.known[a] & t.known[b] & t.known[c]
	}
}

// compute decodes an instruction of the table of operations.
func (p *parser) compute(i *instruction, args []operand) {
	dot := strings.LastIndexByte(i.name, '.')
	if dot < 0 {
		p.fail("%s is not known here", i.name)
	}
	base, t := i.name[:dot], p.kindOf(i, i.name[dot:])
	op, ok := operations[base]
	if !ok || !strings.ContainsRune(op.types, rune(t.is)) || t.bits < 16 && t.is != 'p' || t.is == 'f' && t.bits == 16 {
		p.fail("%s is not known here", i.name)
	}
	p.count(i, args, op.operands+1)
	to, from := t.bits, []int{t.bits, t.bits, t.bits}[:op.operands]
	switch base {
	case "mul.wide":
		to = 2 * t.bits
	case "shl", "shr":
		from[1] = 32
	case "bfe":
		from[1], from[2] = 32, 32
	}
	p.apply(i, args, op.of(t), to, from...)
	switch base {
	case "and":
		p.decided(i, args, t, 0)
	case "or":
		p.decided(i, args, t, t.cut(math.MaxUint64))
	}
}

// decided marks a result as written if one value alone determines it. Loops carry
// predicates that are not yet defined.
func (p *parser) decided(i *instruction, args []operand, t kind, by uint64) {
	d, a, b := p.register(args[0], t.bits), p.value(args[1], t.bits), p.value(args[2], t.bits)
	each := i.each
	i.each = func(t *thread) {
		known := byte(0)
		if t.known[a] != 0 && t.r[a] == by || t.known[b] != 0 && t.r[b] == by {
			known = 1
		}
		each(t)
		if known != 0 {
			t.r[d], t.known[d] = by, 1
		}
	}
}

func (p *parser) compare(i *instruction, args []operand, modifiers []string) {
	p.count(i, args, 3)
	if len(modifiers) != 2 {
		p.fail("%s is not known here", i.name)
	}
	t := p.kindOf(i, "."+modifiers[1])
	f := compared(modifiers[0], t)
	if f == nil {
		p.fail("%s is not known here", i.name)
	}
	p.apply(i, args, f, 1, t.bits, t.bits)
}

// choose decodes selp. The value that is not chosen need not have been written.
func (p *parser) choose(i *instruction, args []operand, t kind) {
	p.count(i, args, 4)
	d, a, b, q := p.register(args[0], t.bits), p.value(args[1], t.bits), p.value(args[2], t.bits), p.register(args[3], 1)
	i.each = func(t *thread) {
		from := b
		if t.r[q] != 0 {
			from = a
		}
		t.r[d], t.known[d] = t.r[from], t.known[from]&t.known[q]
	}
}

// convert decodes cvt. Registers may be wider than the type in them.
func (p *parser) convert(i *instruction, args []operand, modifiers []string) {
	p.count(i, args, 2)
	rounding := ""
	if len(modifiers) == 3 {
		rounding, modifiers = modifiers[0], modifiers[1:]
	}
	if len(modifiers) != 2 {
		p.fail("%s is not known here", i.name)
	}
	to, from := p.kindOf(i, "."+modifiers[0]), p.kindOf(i, "."+modifiers[1])
	f := converted(to, from, rounding)
	if f == nil {
		p.fail("%s is not known here", i.name)
	}
	wide := from.bits
	if r, ok := p.lookUp(args[1].text); ok && r.bits > wide && from.is != 'f' {
		wide = r.bits
	}
	p.apply(i, args, f, to.bits, wide)
}

// move decodes mov: of a register, a number, a special register or an address, or of the
// parts of a register and back.
func (p *parser) move(i *instruction, args []operand) {
	p.count(i, args, 2)
	t := p.kindOf(i, strings.TrimPrefix(i.name, "mov"))
	switch from := args[1]; {
	case from.all != nil:
		p.pack(i, args[0], from.all, t)
	case args[0].all != nil:
		p.unpack(i, args[0].all, from, t)
	case strings.HasPrefix(from.text, "%") && specials[from.text] != nil:
		d, read := p.register(args[0], t.bits), specials[from.text]
		if t != (kind{'u', 32}) && from.text != "%globaltimer" || t != (kind{'u', 64}) && from.text == "%globaltimer" {
			p.fail("%s of %s is not known here", i.name, from.text)
		}
		i.each = func(t *thread) { t.r[d], t.known[d] = read(t), 1 }
	default:
		if at, ok := p.f.local[from.text]; ok {
			d := p.register(args[0], 64)
			i.each = func(t *thread) { t.r[d], t.known[d] = uint64(t.stack+at.at), 1 }
			return
		}
		if at, ok := p.address(from.text); ok {
			args[1].text = strconv.FormatInt(at, 10)
		}
		p.apply(i, args, func(a, _, _ uint64) uint64 { return a }, t.bits, t.bits)
	}
}

// address returns the address of a variable in its own space.
func (p *parser) address(name string) (int64, bool) {
	if v, ok := p.m.shared[name]; ok {
		return sharedBase + int64(p.sharedAt(name, v)), true
	}
	if v, ok := p.f.parameter[name]; ok {
		return parameterBase + int64(v.at), true
	}
	return 0, false
}

// sharedAt returns the offset of a shared variable of the module in the kernel's block.
// Variables that a kernel does not use take no memory in its block.
func (p *parser) sharedAt(name string, v variable) int {
	if own, ok := p.f.shared[name]; ok {
		return own.at
	}
	if !p.f.kernel {
		p.fail("shared memory %s in a function that is called is not known here", name)
	}
	v.at = roundUp(p.f.sharedSize, v.align)
	p.f.sharedSize = v.at + v.bytes
	p.f.shared[name] = v
	return v.at
}

// specials are the special registers: the thread's indices and the clock.
var specials = map[string]func(t *thread) uint64{
	"%tid.x":       func(t *thread) uint64 { return uint64(t.index) },
	"%ntid.x":      func(t *thread) uint64 { return uint64(t.block.grid.threads) },
	"%ctaid.x":     func(t *thread) uint64 { return uint64(t.block.index) },
	"%nctaid.x":    func(t *thread) uint64 { return uint64(len(t.block.grid.blocks)) },
	"%globaltimer": func(t *thread) uint64 { return t.block.grid.machine.read() },
}

func (p *parser) pack(i *instruction, to operand, parts []operand, t kind) {
	p.parts(i, parts, t)
	d := p.register(to, t.bits)
	each := t.bits / len(parts)
	slots := make([]int, len(parts))
	for k, o := range parts {
		slots[k] = p.value(o, each)
	}
	i.each = func(t *thread) {
		v, known := uint64(0), byte(1)
		for k, s := range slots {
			v |= t.r[s] << (k * each)
			known &= t.known[s]
		}
		t.r[d], t.known[d] = v, known
	}
}

func (p *parser) unpack(i *instruction, parts []operand, from operand, t kind) {
	p.parts(i, parts, t)
	s := p.value(from, t.bits)
	each := kind{'b', t.bits / len(parts)}
	slots := make([]int, len(parts))
	for k, o := range parts {
		slots[k] = p.register(o, each.bits)
	}
	i.each = func(t *thread) {
		for k, d := range slots {
			t.r[d], t.known[d] = each.cut(t.r[s]>>(k*each.bits)), t.known[s]
		}
	}
}

func (p *parser) parts(i *instruction, parts []operand, t kind) {
	if len(parts) != 2 && len(parts) != 4 || t.bits/len(parts) < 16 {
		p.fail("%s of %d parts is not known here", i.name, len(parts))
	}
}
