package ptxtest

import (
	"strconv"
	"strings"
)

// operand is an argument of an instruction, as it was written.
type operand struct {
	text   string    // a register, a number or a name
	all    []operand // of a vector in braces, or a list in parentheses
	memory bool      // [text+offset]
	offset int64
}

func (p *parser) operand() operand {
	switch {
	case p.took("{"):
		return operand{all: p.operands("}")}
	case p.took("("):
		return operand{text: "(", all: p.operands(")")}
	case p.took("["):
		o := operand{text: p.next(), memory: true}
		if p.took("+") {
			o.offset = p.signed()
		} else if strings.HasPrefix(p.peek(), "-") {
			o.offset = p.signed()
		}
		p.want("]")
		return o
	}
	return operand{text: p.next()}
}

func (p *parser) signed() int64 {
	n, err := strconv.ParseInt(p.next(), 0, 64)
	if err != nil {
		p.at--
		p.fail("%q: want an offset", p.peek())
	}
	return n
}

func (p *parser) operands(end string) (all []operand) {
	for !p.took(end) {
		if next := p.peek(); end != ";" && (next == "{" || next == "(") {
			p.fail("a list in a list")
		}
		all = append(all, p.operand())
		if !p.took(",") {
			p.want(end)
			return all
		}
	}
	return all
}
