package program

import (
	"cmp"
	"sync"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/search/program/cost"
	"github.com/colltune/colltune/topologies"
)

// Routing is a traced program, which may be dropped and traced again, and what it costs.
type Routing struct {
	program *lang.Program // nil: retrace returns it
	sketch  *lang.Program // of at most MaxHeld operations, until it is summed up whole
	source  string        // of the family, as errors print it
	key     string        // of its trace in the cache
	retrace retrace       // traces the program again
	size    int           // n of its operations, where program is nil
	cost    *cost.Summary // nil until releaseProgram or Summarize
	apart   bool          // compiled without fused instructions

	tracing  sync.Once     // guards small and untraced
	small    *lang.Program // from retrace, where size is at most MaxHeld
	untraced error         // of that trace
	summing  sync.Mutex    // guards cost
}

// retrace traces a program again; a sketch of it is enough to sum it up.
type retrace func(sketch bool) (*lang.Program, error)

// synthesised is the source of routings that a construction found.
const synthesised = "synthesised"

// MaxHeld is the most operations of a program that is kept in memory until it is
// compiled, or of a sketch until it is summed up. A larger one is traced again then, so that
// a search does not hold them all.
const MaxHeld = 1 << 17

// releaseProgram drops a program of more than MaxHeld operations, after summarizing its
// messages, or those of a sketch; again traces it anew.
func (r *Routing) releaseProgram(t *topologies.Topology, sketch bool, again retrace) {
	held := len(r.program.Ops) <= MaxHeld
	if held && !sketch {
		return
	}
	r.cost = cost.Messages(r.program, t)
	r.size, r.retrace = len(r.program.Ops), again
	if held {
		r.sketch = r.program
	} else {
		r.program.Discard()
	}
	r.program = nil
}

// Summarize computes the program's costs, or that of its messages alone, unless it is
// known. program is the routing's, or a sketch of it; nil: a sketch is traced, if it is needed.
// The error is that of retrace.
func (r *Routing) Summarize(program *lang.Program, t *topologies.Topology, whole bool) (err error) {
	r.summing.Lock()
	defer r.summing.Unlock()
	if r.cost != nil && (r.cost.Whole || !whole) {
		return nil
	}
	if program = cmp.Or(program, r.program, r.sketch); program == nil {
		if program, err = r.retrace(true); err != nil {
			return err
		}
		if r.source != synthesised { // a find's program is the find's
			defer program.Discard()
		}
	}
	if whole {
		r.cost, r.sketch = cost.Complete(r.cost, program, t), nil
	} else {
		r.cost = cost.Messages(program, t)
	}
	return nil
}

// Cost is what the routing costs: its messages alone, or whole; nil before it was summed up.
func (r *Routing) Cost() *cost.Summary { return r.cost }

// Traced returns the program, and traces it again if it was dropped: each time if it
// has more than MaxHeld operations, else once.
func (r *Routing) Traced() (*lang.Program, error) {
	switch {
	case r.program != nil:
		return r.program, nil
	case r.size > MaxHeld:
		return r.retrace(false)
	}
	r.tracing.Do(func() { r.small, r.untraced = r.retrace(false) })
	return r.small, r.untraced
}

// Operations returns the number of operations of one instance.
func (r *Routing) Operations() int {
	if r.program != nil {
		return len(r.program.Ops)
	}
	return r.size
}

// disable returns the names of the compiler's passes to leave out.
func (r *Routing) disable() []string {
	if r.apart {
		return unfused
	}
	return nil
}

// unfused are the passes that fuse instructions.
var unfused = []string{"fuse rcs", "fuse rrcs", "fuse rrs"}

// trace is a routing, or why there is none.
type trace struct {
	routing *Routing
	refused *Refusal
}
