package solver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints"
)

// Parent and worker exchange these messages, one in each frame:
//
//	hello     the worker's version, or why it cannot work
//	question  a formula in normal form, preferences, limits
//	answer    status, model, detail
//
// Numbers are varints. A decoder allocates memory in proportion to the size of the
// message.

// protocolVersion is the first byte of every message. Parent and worker are the
// same binary, so it serves only to detect output that is not a message.
const protocolVersion = 0xC1

// question is the part of a query that is not the formula.
type question struct {
	id    uint64
	limit time.Duration
	work  time.Duration // limit on work; 0 means only time is limited
}

// problem is a question as the worker sees it.
type problem struct {
	question
	variables int
	rows      []constraints.NormalRow
	prefer    [][]constraints.Lit
}

func appendQuestion(b []byte, f *constraints.Formula, q question) []byte {
	b = append(b, protocolVersion)
	b = binary.AppendUvarint(b, q.id)
	b = binary.AppendUvarint(b, uint64(max(q.limit.Milliseconds(), 1)))
	b = binary.AppendUvarint(b, uint64(q.work.Microseconds()))
	b = binary.AppendUvarint(b, uint64(f.Variables()))
	b = binary.AppendUvarint(b, uint64(len(f.Preferences())))
	for _, group := range f.Preferences() {
		b = appendLits(b, group)
	}
	f.Normal(func(r constraints.NormalRow) { // up to the end of the message
		b = binary.AppendUvarint(b, uint64(r.Bound)<<1|uint64(min(len(r.Weights), 1)))
		b = appendLits(b, r.Lits)
		for _, w := range r.Weights {
			b = binary.AppendUvarint(b, uint64(w))
		}
	})
	return b
}

func appendLits(b []byte, lits []constraints.Lit) []byte {
	b = binary.AppendUvarint(b, uint64(len(lits)))
	for _, l := range lits {
		b = binary.AppendVarint(b, int64(l))
	}
	return b
}

// decoder decodes numbers from a message and stores the first error.
type decoder struct {
	b   []byte
	err error
}

var errTruncated = errors.New("message cut short")

func (r *decoder) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// number decodes a number of at most max. what names it in errors.
func (r *decoder) number(what string, most uint64) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err = errTruncated
		return 0
	}
	r.b = r.b[n:]
	if v > most {
		r.fail("%s %d: want at most %d", what, v, most)
		return 0
	}
	return v
}

func (r *decoder) lits(variables int) []constraints.Lit {
	n := int(r.number("literals", uint64(len(r.b)))) // one byte each at least
	lits := make([]constraints.Lit, 0, n)
	for range n {
		v, k := binary.Varint(r.b)
		if r.err != nil || k <= 0 {
			r.fail("%w", errTruncated)
			return nil
		}
		r.b = r.b[k:]
		if v == 0 || v > int64(variables) || v < -int64(variables) {
			r.fail("literal %d of %d variables", v, variables)
			return nil
		}
		lits = append(lits, constraints.Lit(v))
	}
	return lits
}

func (r *decoder) version() {
	if len(r.b) == 0 || r.b[0] != protocolVersion {
		r.fail("no message of this protocol")
		return
	}
	r.b = r.b[1:]
}

// readQuestion decodes what appendQuestion encoded.
func readQuestion(b []byte) (problem, error) {
	r := &decoder{b: b}
	r.version()
	var p problem
	p.id = r.number("id", 1<<62)
	p.limit = time.Duration(r.number("limit", 1<<40)) * time.Millisecond
	p.work = time.Duration(r.number("work", 1<<40)) * time.Microsecond
	p.variables = int(r.number("variables", constraints.MaxVariables))
	for range r.number("preferences", uint64(len(r.b))) {
		p.prefer = append(p.prefer, r.lits(p.variables))
		if r.err != nil {
			break
		}
	}
	for r.err == nil && len(r.b) > 0 {
		head := r.number("bound", constraints.MaxSum<<2)
		row := constraints.NormalRow{Bound: int(head >> 1), Lits: r.lits(p.variables)}
		if head&1 == 1 {
			row.Weights = make([]int, len(row.Lits))
			for i := range row.Weights {
				row.Weights[i] = int(r.number("weight", constraints.MaxSum))
			}
		}
		p.rows = append(p.rows, row)
	}
	return p, r.err
}

// outcome is a worker's answer to a question.
type outcome uint8

const (
	saysSat outcome = iota
	saysUnsat
	saysTimeout
	saysMemory
	saysWork
	saysError
	outcomes
)

// reply is a worker's answer.
type reply struct {
	id     uint64
	says   outcome
	work   time.Duration // done; 0 if it was not limited
	model  []bool
	detail string
}

func appendAnswer(b []byte, a reply) []byte {
	b = append(b, protocolVersion)
	b = binary.AppendUvarint(b, a.id)
	b = append(b, byte(a.says))
	b = binary.AppendUvarint(b, uint64(a.work.Microseconds()))
	b = binary.AppendUvarint(b, uint64(len(a.model)))
	bits := make([]byte, (len(a.model)+7)/8)
	for i, v := range a.model {
		if v {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return append(append(b, bits...), a.detail...)
}

// readAnswer decodes what appendAnswer encoded.
func readAnswer(b []byte) (reply, error) {
	r := &decoder{b: b}
	r.version()
	a := reply{
		id:   r.number("id", 1<<62),
		says: outcome(r.number("outcome", uint64(outcomes-1))),
		work: time.Duration(r.number("work done", 1<<40)) * time.Microsecond,
	}
	n := int(r.number("values", uint64(len(r.b))*8))
	if bytes := (n + 7) / 8; r.err == nil && bytes > len(r.b) {
		r.err = errTruncated
	}
	if r.err != nil {
		return reply{}, r.err
	}
	a.model = make([]bool, n)
	for i := range a.model {
		a.model[i] = r.b[i/8]>>(i%8)&1 == 1
	}
	a.detail = string(r.b[(n+7)/8:])
	return a, nil
}

// appendHello encodes a worker's first message: its version, or the error that
// keeps it from working.
func appendHello(version string, err error) []byte {
	if err != nil {
		return append([]byte{protocolVersion, 0}, err.Error()...)
	}
	return append([]byte{protocolVersion, 1}, version...)
}

// readHello decodes a worker's first message. The second error is the one that the
// worker reports.
func readHello(b []byte) (version string, noHello, refused error) {
	if len(b) < 2 || b[0] != protocolVersion || b[1] > 1 {
		return "", errors.New("no message of this protocol"), nil
	}
	if b[1] == 0 {
		return "", nil, errors.New(string(b[2:]))
	}
	return string(b[2:]), nil, nil
}
