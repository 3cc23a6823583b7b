package lang

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// Limits of a trace. The largest known programs are an order of magnitude
// smaller (all-pairs on 2,048 ranks has 8 million operations). A program above
// a limit is taken to be a mistake, and is refused before memory runs out.
const (
	MaxOps     = 1 << 24 // operations
	MaxScratch = 1 << 24 // chunks of scratch at one rank
	MaxPlaces  = 1 << 26 // chunks of all buffers of all ranks
	MaxFactor  = 1 << 10 // of all enclosing parallelize together
	MaxChannel = 1 << 10
	MaxNamed   = 64 // scratch buffers with names of their own
)

// Trace records the operations of a chunk program as it runs (GC3 section 4.1)
// and tracks the value of every place. Create it with NewTrace. It is not safe
// for concurrent use.
type Trace struct {
	name   string
	coll   collective.Collective
	linked func(a, b int) bool
	peers  peers

	pos    Pos
	at     mark // mark of pos; its file is 0 until it is needed
	files  files
	ops    opList
	maxOps int // operations
	scopes []Scope
	scope  int32   // the innermost open scope
	open   []int32 // stack of enclosing scopes; a factor of 1 opens no scope of its own

	sketch bool // follows no values
	ranks  []rank
	named  []string // scratch buffers with names of their own: Scratch+1, …
	places int
	values values
	err    error // the collective is too large to trace

	replayed fields // of the last operation that was replayed
}

// NewTrace starts a program of a collective. The input buffers satisfy its
// precondition; all other chunks are uninitialised. name is the program's name.
// If the collective is too large, every operation fails: see Err.
func NewTrace(name string, c collective.Collective) *Trace { return newTrace(name, c, false) }

// NewSketch is NewTrace of a trace that follows no values: that an uninitialised or
// overwritten chunk is read, or the result is wrong, goes unnoticed. It takes a fraction
// of the time and memory, and is for programs that are traced in full before they are used.
func NewSketch(name string, c collective.Collective) *Trace { return newTrace(name, c, true) }

func newTrace(name string, c collective.Collective, sketch bool) *Trace {
	t := &Trace{name: name, coll: c, maxOps: MaxOps, scopes: []Scope{{Factor: 1}}, sketch: sketch}
	t.err = t.layOut()
	return t
}

// Err returns the reason if the collective is too large to trace, or nil.
func (t *Trace) Err() error { return t.err }

// SetMaxOps limits the number of operations to ops, at most MaxOps. The
// operation that exceeds it returns an *Error with Large set.
func (t *Trace) SetMaxOps(ops int) { t.maxOps = min(ops, MaxOps) }

// SetLinked sets the function that reports whether rank a can send to rank b, which is
// called for each operation between ranks. By default all ranks are linked.
func (t *Trace) SetLinked(f func(a, b int) bool) { t.linked = f }

// At sets the position in the source of the operations that follow.
func (t *Trace) At(p Pos) { t.pos, t.at = p, mark{} }

// Pos returns the position that At has set last, or the last operation's of a replay.
func (t *Trace) Pos() Pos { return t.pos }

// Len returns the number of operations traced so far.
func (t *Trace) Len() int { return t.ops.n }

// Collective returns the program's collective.
func (t *Trace) Collective() collective.Collective { return t.coll }

// CanEnter returns the error that Enter(factor) would return.
func (t *Trace) CanEnter(factor int) error {
	total := factor
	for s := t.scope; s != 0 && total > 0 && total <= MaxFactor; s = t.scopes[s].Parent {
		total *= t.scopes[s].Factor
	}
	switch {
	case factor < 1:
		return t.errorf("parallelize(%d): want at least 1", factor)
	case total > MaxFactor:
		return t.errorf("parallelize(%d) makes more than %d instances together with the scopes around it", factor, MaxFactor)
	}
	return nil
}

// Enter opens a parallelize scope: the operations until Leave are replicated
// factor times. A factor of 1 has no effect. It returns an error if the product
// of nested factors exceeds MaxFactor.
func (t *Trace) Enter(factor int) error {
	if err := t.CanEnter(factor); err != nil {
		return err
	}
	t.open = append(t.open, t.scope)
	if factor > 1 {
		t.scopes = append(t.scopes, Scope{Parent: t.scope, Factor: factor})
		t.scope = int32(len(t.scopes) - 1)
	}
	return nil
}

// Leave closes the innermost open scope. It does nothing if none is open.
func (t *Trace) Leave() {
	if n := len(t.open); n > 0 {
		t.scope, t.open = t.open[n-1], t.open[:n-1]
	}
}

func (t *Trace) errorf(format string, args ...any) error {
	return &Error{Pos: t.pos, Msg: fmt.Sprintf(format, args...)}
}

// checkLink returns an error if rank a cannot send to rank b.
func (t *Trace) checkLink(a, b int) error {
	if a == b || t.linked == nil || t.linked(a, b) {
		return nil
	}
	return &Error{Pos: t.pos, Msg: fmt.Sprintf("no link from rank %d to rank %d", a, b), NoLink: true}
}

// record appends an operation. The versions of places count operations from 1.
func (t *Trace) record(op Op, ch int) error {
	switch {
	case t.ops.n >= t.maxOps:
		return &Error{Pos: t.pos, Msg: fmt.Sprintf("the program has more than %d operations", t.maxOps), Large: t.maxOps < MaxOps}
	case ch < -1 || ch >= MaxChannel:
		return t.errorf("channel %d: want 0 to %d, or none", ch, MaxChannel-1)
	}
	if t.at.file == 0 {
		t.at = t.files.mark(t.pos)
	}
	op.Channel, op.Scope, op.at = int32(ch), t.scope, t.at
	t.ops.add(op)
	return nil
}

// posOf returns where the operation that made a version stands.
func (t *Trace) posOf(version int32) Pos { return t.files.pos(t.ops.at(version - 1).at) }
