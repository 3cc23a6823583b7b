package lang

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/colltune/colltune/compiler/collective"
)

// A program can be traced in one process and checked in another, which traces its
// operations once more as they arrive:
//
//	r := t.Record()
//	piece := r.Append(nil, 1024)    ──▶    err := u.Replay(piece)
//	…                                      p, err := u.Finish()
//
// A piece is a list of unsigned varints: the numbers of new files, named scratch
// buffers, scopes and operations, and then each of them. An operation is a mask of
// the fields in which it differs from the one before, and those fields.

// Record encodes what a Trace has recorded, piece by piece. It is not safe for
// concurrent use with its trace.
type Record struct {
	t                         *Trace
	files, named, scopes, ops int // encoded so far
	last                      fields
}

// Record returns the record of the trace, of which nothing is encoded yet.
func (t *Trace) Record() *Record { return &Record{t: t, scopes: 1} }

// Len returns the number of operations that are not encoded yet.
func (r *Record) Len() int { return r.t.ops.n - r.ops }

// fields are the numbers that an operation consists of.
type fields [15]int32

func (op *Op) fields() fields {
	return fields{
		int32(op.Kind), op.Src.Rank, int32(op.Src.Buf), op.Src.Index, op.Src.Count, op.Src.Stride,
		op.Dst.Rank, int32(op.Dst.Buf), op.Dst.Index, op.Dst.Stride,
		op.Channel + 1, op.Scope, op.at.file, op.at.line, op.at.col,
	}
}

// op returns the operation of its fields. It reports false if they are none's.
func (f *fields) op() (Op, bool) {
	return Op{
		Kind:    Kind(f[0]),
		Src:     Span{Rank: f[1], Buf: collective.Buffer(f[2]), Index: f[3], Count: f[4], Stride: f[5]},
		Dst:     Span{Rank: f[6], Buf: collective.Buffer(f[7]), Index: f[8], Count: f[4], Stride: f[9]},
		Channel: f[10] - 1, Scope: f[11], at: mark{f[12], f[13], f[14]},
	}, f[0] <= int32(Reduce) && max(f[2], f[7]) <= int32(collective.Scratch)+MaxNamed
}

// Append encodes up to most further operations, with what is new beside them, and
// appends them to b.
func (r *Record) Append(b []byte, most int) []byte {
	t, n := r.t, min(r.Len(), most)
	put := func(v int) { b = binary.AppendUvarint(b, uint64(v)) }
	put(len(t.files) - r.files)
	put(len(t.named) - r.named)
	put(len(t.scopes) - r.scopes)
	put(n)
	for _, names := range [...][]string{t.files[r.files:], t.named[r.named:]} {
		for _, name := range names {
			put(len(name))
			b = append(b, name...)
		}
	}
	for _, s := range t.scopes[r.scopes:] {
		put(int(s.Parent))
		put(s.Factor)
	}
	for i := range n {
		now, mask := t.ops.at(int32(r.ops+i)).fields(), uint64(0)
		for j := range now {
			if now[j] != r.last[j] {
				mask |= 1 << j
			}
		}
		b = binary.AppendUvarint(b, mask)
		for left := mask; left != 0; left &= left - 1 {
			b = binary.AppendUvarint(b, uint64(now[bits.TrailingZeros64(left)]))
		}
		r.last = now
	}
	r.files, r.named, r.scopes, r.ops = len(t.files), len(t.named), len(t.scopes), r.ops+n
	return b
}

// ErrGarbled is returned for a piece that no Record has made.
var ErrGarbled = errors.New("a garbled trace")

// Replay traces the operations of a piece, with the checks of Copy and Reduce. The
// trace must have been made like the one recorded, and only replayed to. An error is
// an *Error or ErrGarbled.
func (t *Trace) Replay(piece []byte) error {
	p := reader{b: piece}
	files, named, scopes, ops := p.number(), p.number(), p.number(), p.number()
	for range files {
		if t.files = append(t.files, p.text()); p.bad {
			return ErrGarbled
		}
	}
	for range named {
		if name := p.text(); p.bad {
			return ErrGarbled
		} else if _, err := t.Named(name); err != nil {
			return err
		}
	}
	for range scopes {
		parent, factor := p.number(), p.number()
		if p.bad || parent >= len(t.scopes) || factor < 2 {
			return ErrGarbled
		}
		t.scope = int32(parent)
		if err := t.CanEnter(factor); err != nil {
			return err
		}
		t.scopes = append(t.scopes, Scope{Parent: int32(parent), Factor: factor})
	}
	for range ops {
		mask := p.number()
		if mask >= 1<<len(t.replayed) {
			return ErrGarbled
		}
		for left := uint64(mask); left != 0; left &= left - 1 {
			t.replayed[bits.TrailingZeros64(left)] = int32(p.number())
		}
		op, ok := t.replayed.op()
		if p.bad || !ok {
			return ErrGarbled
		}
		if err := t.replay(&op); err != nil {
			return err
		}
	}
	if p.bad || len(p.b) > 0 {
		return ErrGarbled
	}
	return nil
}

// replay traces an operation of any content.
func (t *Trace) replay(op *Op) error {
	if t.err != nil {
		return t.err
	}
	if int(op.Scope) >= len(t.scopes) || op.at.file < 1 || int(op.at.file) > len(t.files) {
		return ErrGarbled
	}
	t.pos, t.at, t.scope = t.files.pos(op.at), op.at, op.Scope
	if !t.holds(op.Src) || !t.holds(op.Dst) {
		return ErrGarbled
	}
	if err := t.checkInitialised(op.Src); err != nil {
		return err
	}
	if op.Kind == Copy {
		return t.copy(op.Src, op.Dst, int(op.Channel))
	}
	if err := t.checkInitialised(op.Dst); err != nil {
		return err
	}
	return t.reduce(op.Src, op.Dst, int(op.Channel))
}

// holds reports whether a span lies within a buffer, as those that resolve returns.
func (t *Trace) holds(s Span) bool {
	if int(s.Rank) >= len(t.ranks) || int(s.Buf) > int(collective.Scratch)+len(t.named) ||
		s.Count < 1 || s.Stride < 1 || s.Count == 1 && s.Stride != 1 {
		return false
	}
	size := MaxScratch
	if s.Buf < collective.Scratch {
		size = len(t.buffer(s))
	}
	return int64(s.Index)+int64(s.Count-1)*int64(s.Stride) < int64(size)
}

// reader reads a piece. bad is set once it does not hold what is asked for.
type reader struct {
	b   []byte
	bad bool
}

// number reads a number of at most 31 bits.
func (p *reader) number() int {
	v, n := binary.Uvarint(p.b)
	if n <= 0 || v > math.MaxInt32 {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[n:]
	return int(v)
}

func (p *reader) text() string {
	n := p.number()
	if n > len(p.b) {
		p.b, p.bad = nil, true
		return ""
	}
	text := string(p.b[:n])
	p.b = p.b[n:]
	return text
}
