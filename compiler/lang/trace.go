package lang

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// What a trace may grow to. The largest programs in sight stay an order of
// magnitude below (all-pairs on 2,048 ranks: 8 million operations); what is
// above them is a mistake, and is told before the memory is gone.
const (
	MaxOps     = 1 << 24 // operations
	MaxScratch = 1 << 24 // chunks of scratch at one rank
	MaxPlaces  = 1 << 26 // chunks of all buffers of all ranks
	MaxFactor  = 1 << 10 // of all enclosing parallelize together
	MaxChannel = 1 << 10
	MaxNamed   = 64 // scratch buffers with names of their own
)

// Trace records the operations of a chunk program as it runs (GC3 section 4.1)
// and knows at each moment what every place holds. It is not safe for
// concurrent use.
type Trace struct {
	name   string
	coll   collective.Collective
	linked func(a, b int) bool
	links  []uint8           // a*ranks+b: 0 not asked yet, 1 no, 2 yes; nil over many ranks
	some   map[[2]int32]bool // of the links that were asked for, over many ranks

	pos    Pos
	at     mark // pos; its file is 0 until it is asked for
	files  files
	ops    opList
	most   int // operations
	scopes []Scope
	scope  int32   // the innermost open scope
	open   []int32 // what Leave returns to; a factor of 1 opens no scope of its own

	ranks  []rank
	named  []string // scratch buffers with names of their own: Scratch+1, …
	places int
	values values
	broken error // the collective is too large to trace
}

// NewTrace starts a program called name for a collective: the input buffers
// are as its precondition says, everything else is uninitialised.
func NewTrace(name string, c collective.Collective) *Trace {
	t := &Trace{name: name, coll: c, most: MaxOps, scopes: []Scope{{Factor: 1}}}
	t.broken = t.layOut()
	return t
}

// Broken is why the collective is too large to trace; nil where it is not.
func (t *Trace) Broken() error { return t.broken }

// SetMost has the trace end, with an Error that is Large, at the operation after
// so many: who can use no more need not wait for them.
func (t *Trace) SetMost(ops int) { t.most = min(ops, MaxOps) }

// SetLinked gives the function that reports whether rank a can send to rank b.
// Without it every two ranks are linked.
func (t *Trace) SetLinked(f func(a, b int) bool) {
	t.linked = f
	if t.coll.Ranks > manyRanks {
		t.some = map[[2]int32]bool{}
		return
	}
	t.links = make([]uint8, t.coll.Ranks*t.coll.Ranks)
}

// manyRanks is from how many ranks on the links that a program uses are fewer than
// there could be: over 65,536 ranks, a byte for each pair would be 4 GB.
const manyRanks = 2048

// At says where in the program's text the next operations stand.
func (t *Trace) At(p Pos) { t.pos, t.at = p, mark{} }

// Len is how many operations have been traced.
func (t *Trace) Len() int { return t.ops.n }

// Collective is what the program computes.
func (t *Trace) Collective() collective.Collective { return t.coll }

// CanEnter is the error that Enter(factor) would return.
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

// Enter opens a scope under parallelize: until Leave, operations are
// replicated factor times. A factor of 1 changes nothing.
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

// Leave closes the scope opened last; without one it does nothing.
func (t *Trace) Leave() {
	if n := len(t.open); n > 0 {
		t.scope, t.open = t.open[n-1], t.open[:n-1]
	}
}

// errorf is an Error at the current position.
func (t *Trace) errorf(format string, args ...any) error {
	return &Error{Pos: t.pos, Msg: fmt.Sprintf(format, args...)}
}

// checkLink is an error where rank a cannot send to rank b.
func (t *Trace) checkLink(a, b int) error {
	if a == b || t.linked == nil {
		return nil
	}
	if !t.isLinked(a, b) {
		return &Error{Pos: t.pos, Msg: fmt.Sprintf("no link from rank %d to rank %d", a, b), NoLink: true}
	}
	return nil
}

// isLinked asks for each pair of ranks once.
func (t *Trace) isLinked(a, b int) bool {
	if t.links == nil {
		pair := [2]int32{int32(a), int32(b)}
		yes, known := t.some[pair]
		if !known {
			yes = t.linked(a, b)
			t.some[pair] = yes
		}
		return yes
	}
	known := &t.links[a*t.coll.Ranks+b]
	if *known == 0 {
		*known = 1
		if t.linked(a, b) {
			*known = 2
		}
	}
	return *known == 2
}

// record appends an operation. The versions of places count operations from 1.
func (t *Trace) record(op Op, ch int) error {
	switch {
	case t.ops.n >= t.most:
		return &Error{Pos: t.pos, Msg: fmt.Sprintf("the program has more than %d operations", t.most), Large: t.most < MaxOps}
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

// posOf is where the operation that made a version stands.
func (t *Trace) posOf(version int32) Pos { return t.files.pos(t.ops.at(version - 1).at) }
