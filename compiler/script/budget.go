package script

import (
	"fmt"
	"math"
	"sync/atomic"
)

// Budget limits the work of many runs of one template together: a search calls its
// functions, and runs its program, for every set of its parameters, and each of
// these runs may take as long as a single one could.
type Budget struct {
	most uint64 // steps of the interpreter
	done atomic.Uint64
}

// Limits of an enumeration. The largest of a family like the built-in ones takes
// 14 million steps on 72 ranks, and 16 thousand million on 2,048. On a node of 8
// the budget lasts less than a second.
const (
	enumerationSteps = 1 << 25
	enumerationPairs = 1 << 13 // further steps for every pair of ranks
)

// NewBudget returns the budget of an enumeration on a machine.
func NewBudget(m Machine) *Budget {
	pairs := (&session{machine: m}).pairs()
	return &Budget{most: enumerationSteps + enumerationPairs*uint64(pairs)}
}

// Within returns the template with a budget for everything that is run of it
// from now on.
func (t *Template) Within(b *Budget) *Template {
	limited := *t
	limited.budget = b
	return &limited
}

// Limited reports whether the template has a budget.
func (t *Template) Limited() bool { return t.budget != nil }

// atMost reduces a number of steps to what the budget leaves.
func (b *Budget) atMost(steps uint64) uint64 {
	if b == nil {
		return steps
	}
	return min(steps, b.most-min(b.done.Load(), b.most))
}

// spend deducts what a run took.
func (b *Budget) spend(steps uint64) {
	if b != nil {
		b.done.Add(min(steps, math.MaxInt64))
	}
}

// spent returns an error if nothing is left.
func (b *Budget) spent() error {
	if b == nil || b.done.Load() < b.most {
		return nil
	}
	return fmt.Errorf("%s", b.message())
}

func (b *Budget) message() string {
	return fmt.Sprintf("too many steps for all sets of parameters together: want at most %d of the interpreter (fix some parameters, or have fewer values)", b.most)
}
