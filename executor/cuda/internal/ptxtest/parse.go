package ptxtest

import (
	"fmt"
	"strconv"
)

// Module is a parsed PTX text.
type Module struct {
	functions map[string]*function
	shared    map[string]variable // where they are is the kernels' business
}

// variable is in shared, local or parameter memory.
type variable struct{ at, bytes, align int }

// function is a kernel or a device function.
type function struct {
	name       string
	kernel     bool
	defined    bool
	parameters []string
	parameter  map[string]variable // of a kernel: in its bytes
	bytes      int                 // of a kernel's parameters
	shared     map[string]variable // of those in the module, what a kernel mentions
	sharedSize int                 // of a kernel's block
	result     string
	maxThreads int
	local      map[string]variable
	localBytes int

	code   []instruction
	labels map[string]int
	// A frame: registers, constants and the parameters of calls, a slot each.
	slots     int
	constants []constant
	arguments []int // slots of the parameters of what is no kernel
	returned  int   // slot of the result; -1: none
	known     []byte
}

type constant struct {
	slot  int
	value uint64
}

// instruction is a decoded instruction: each executes it for a thread, together for the
// threads of a warp that run in step.
type instruction struct {
	line     int
	name     string
	guard    int // slot of a predicate; -1: none
	unless   bool
	each     func(t *thread)
	together func(g *group)
}

// parser reads a module. Its next token is tokens[at].
type parser struct {
	tokens []token
	at     int
	m      *Module
	f      *function
	scopes []map[string]register
	// Branches of the function, whose labels may come later.
	targets []target
}

// register is a name's slot and width: 1 bit for predicates.
type register struct {
	slot, bits int
	float      bool
}

// Parse parses the text of a module. The error is an *Error with a line.
func Parse(text []byte) (m *Module, err error) {
	tokens, err := scan(string(text))
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, m: &Module{functions: map[string]*function{}, shared: map[string]variable{}}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			m, err = nil, e
		}
	}()
	for p.at < len(p.tokens) {
		p.declaration()
	}
	for _, f := range p.m.functions {
		if !f.defined {
			p.fail("function %s is declared and not defined", f.name)
		}
	}
	return p.m, nil
}

func (p *parser) fail(format string, args ...any) {
	line := 0
	if len(p.tokens) > 0 {
		line = p.tokens[min(p.at, len(p.tokens)-1)].line
	}
	panic(&Error{line, fmt.Sprintf(format, args...)})
}

func (p *parser) peek() string {
	if p.at == len(p.tokens) {
		return ""
	}
	return p.tokens[p.at].text
}

func (p *parser) next() string {
	if p.at == len(p.tokens) {
		p.fail("the text ends in the middle")
	}
	p.at++
	return p.tokens[p.at-1].text
}

func (p *parser) want(text string) {
	if got := p.next(); got != text {
		p.at--
		p.fail("%q: want %q", got, text)
	}
}

func (p *parser) took(text string) bool {
	if p.peek() == text {
		p.at++
		return true
	}
	return false
}

// maxThreadsOfBlock is of a block, on any GPU; maxScopes how deep braces lie in each
// other.
const (
	maxThreadsOfBlock = 1024
	maxScopes         = 16
)

// maxNumber is the largest of a declaration: bytes, threads, registers.
const maxNumber = 1 << 20

func (p *parser) number() int {
	n, err := strconv.Atoi(p.next())
	if err != nil || n < 0 || n > maxNumber {
		p.at--
		p.fail("%q: want a number, %d at most", p.peek(), maxNumber)
	}
	return n
}

// declaration reads one of the outermost level.
func (p *parser) declaration() {
	switch d := p.next(); d {
	case ".version":
		p.oneOf(d, "6.0")
	case ".target":
		p.oneOf(d, "sm_70")
	case ".address_size":
		p.oneOf(d, "64")
	case ".visible", ".weak":
	case ".shared":
		name, v := p.array()
		p.m.shared[name] = v
		p.want(";")
	case ".func", ".entry":
		p.function(d == ".entry")
	default:
		p.at--
		p.fail("directive %s is not known here", d)
	}
}

func (p *parser) oneOf(directive, only string) {
	if got := p.next(); got != only {
		p.at--
		p.fail("%s %s: only %s is known here", directive, got, only)
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// array reads what follows a space's name: .align 8 .b8 name[96].
func (p *parser) array() (name string, v variable) {
	v.align = 1
	if p.took(".align") {
		v.align = p.number()
	}
	t := p.typeOf(p.next())
	width := t.bits / 8
	if width == 0 || v.align == 0 || v.align&(v.align-1) != 0 {
		p.fail("memory of %d bits, aligned to %d bytes: want whole bytes and a power of two", t.bits, v.align)
	}
	name = p.next()
	v.bytes = width
	if p.took("[") {
		v.bytes = width * p.number()
		p.want("]")
	}
	v.align = max(v.align, width)
	return name, v
}

// function reads a declaration, or a definition with its body.
func (p *parser) function(kernel bool) {
	f := &function{kernel: kernel, parameter: map[string]variable{}, shared: map[string]variable{}, local: map[string]variable{}, labels: map[string]int{}, returned: -1, maxThreads: maxThreadsOfBlock}
	p.f, p.scopes = f, []map[string]register{{}}
	if p.took("(") {
		p.want(".param")
		name, v := p.array()
		f.result, f.returned = name, p.slot(name, v.bytes*8)
		p.want(")")
	}
	f.name = p.next()
	p.want("(")
	for !p.took(")") {
		p.want(".param")
		name, v := p.array()
		v.at = roundUp(f.bytes, v.align)
		f.bytes = v.at + v.bytes
		f.parameters = append(f.parameters, name)
		if kernel {
			f.parameter[name] = v
		} else {
			f.arguments = append(f.arguments, p.slot(name, v.bytes*8))
		}
		p.took(",")
	}
	if before := p.m.functions[f.name]; before == nil {
		p.m.functions[f.name] = f
	} else if before.defined || len(before.parameters) != len(f.parameters) || (before.returned < 0) != (f.returned < 0) {
		p.fail("function %s has been declared otherwise", f.name)
	} else {
		*before = *f
		f, p.f = before, before
	}
	if p.took(";") {
		return
	}
	if p.took(".maxntid") {
		f.maxThreads = p.number()
		for p.took(",") {
			f.maxThreads *= p.number()
		}
		if f.maxThreads < 1 || f.maxThreads > maxThreadsOfBlock {
			p.fail("blocks of %d threads: want 1 to %d", f.maxThreads, maxThreadsOfBlock)
		}
	}
	f.defined = true
	p.want("{")
	p.block()
	f.code = append(f.code, instruction{line: p.tokens[p.at-1].line, name: "the end of " + f.name, guard: -1, together: func(g *group) {
		g.fail("%s ends without ret", f.name)
	}})
	p.resolve()
	f.known = make([]byte, f.slots)
	for _, c := range f.constants {
		f.known[c.slot] = 1
	}
}

// block reads statements to the closing brace.
func (p *parser) block() {
	for !p.took("}") {
		if p.at == len(p.tokens) {
			p.fail("the text ends in the middle of a function")
		}
		switch first := p.peek(); {
		case first == "{":
			p.next()
			if len(p.scopes) == maxScopes {
				p.fail("braces in braces, %d deep", maxScopes)
			}
			p.scopes = append(p.scopes, map[string]register{})
			p.block()
			p.scopes = p.scopes[:len(p.scopes)-1]
		case first == ".reg":
			p.next()
			p.registers()
		case first == ".param":
			p.next()
			name, v := p.array()
			if v.bytes > 8 {
				p.fail("parameter %s of %d bytes: want 8 at most", name, v.bytes)
			}
			p.slot(name, v.bytes*8)
			p.want(";")
		case first == ".local":
			p.next()
			name, v := p.array()
			v.at = roundUp(p.f.localBytes, v.align)
			p.f.localBytes = v.at + v.bytes
			p.f.local[name] = v
			p.want(";")
		case first == ".pragma":
			p.next()
			p.oneOf(".pragma", `"nounroll"`)
			p.want(";")
		case first == ";":
			p.next()
		case p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == ":":
			name := p.next()
			p.next()
			if _, twice := p.f.labels[name]; twice {
				p.fail("label %s is there twice", name)
			}
			p.f.labels[name] = len(p.f.code)
		default:
			p.statement()
		}
	}
}

// registers reads .reg .b32 %r<173>, or single names.
func (p *parser) registers() {
	t := p.typeOf(p.next())
	for {
		name := p.next()
		if p.took("<") {
			n := p.number()
			for i := range n {
				p.declare(name+strconv.Itoa(i), t)
			}
			p.want(">")
		} else {
			p.declare(name, t)
		}
		if !p.took(",") {
			break
		}
	}
	p.want(";")
}

func (p *parser) declare(name string, t kind) {
	slot := p.slot(name, t.bits)
	p.scopes[len(p.scopes)-1][name] = register{slot, t.bits, t.is == 'f'}
}

// slot gives a name a place of the frame.
func (p *parser) slot(name string, bits int) int {
	scope := p.scopes[len(p.scopes)-1]
	if _, twice := scope[name]; twice {
		p.fail("%s is declared twice", name)
	}
	scope[name] = register{slot: p.f.slots, bits: bits}
	p.f.slots++
	return p.f.slots - 1
}

// lookUp returns the register of a name, from the innermost scope out.
func (p *parser) lookUp(name string) (register, bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if r, ok := p.scopes[i][name]; ok {
			return r, true
		}
	}
	return register{}, false
}

// statement reads an instruction with its guard and has it decoded.
func (p *parser) statement() {
	i := instruction{line: p.tokens[p.at].line, guard: -1} // there is one
	if p.took("@") {
		i.unless = p.took("!")
		r, ok := p.lookUp(p.next())
		if !ok || r.bits != 1 {
			p.at--
			p.fail("%s is no predicate", p.peek())
		}
		i.guard = r.slot
	}
	i.name = p.next()
	at := p.at - 1
	args := p.operands(";")
	end := p.at
	p.at = at // where mistakes are
	p.decode(&i, args)
	p.at = end
	p.f.code = append(p.f.code, i)
}
