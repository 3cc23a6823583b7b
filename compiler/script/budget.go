package script

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Budget limits the total work of many runs of one template: a search evaluates
// its functions and program for every set of parameters, and each of these runs
// may use the whole limit of a single run. It is safe for concurrent use.
type Budget struct {
	limit uint64 // steps of the interpreter
	done  atomic.Uint64
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
	return &Budget{limit: enumerationSteps + enumerationPairs*uint64(pairs)}
}

// WithBudget returns the template with a budget that all its runs share.
func (t *Template) WithBudget(b *Budget) *Template {
	limited := *t
	limited.budget = b
	return &limited
}

// Limited reports whether the template has a budget.
func (t *Template) Limited() bool { return t.budget != nil }

// atMost reduces a number of steps to the rest of the budget.
func (b *Budget) atMost(steps uint64) uint64 {
	if b == nil {
		return steps
	}
	return min(steps, b.limit-min(b.done.Load(), b.limit))
}

// slowStep is the processor time in which at least one step is spent, for runs whose
// steps take long: many times the usual.
const slowStep = 10 * stepTime

// spend deducts the steps of a run, and the processor time it took.
func (b *Budget) spend(steps uint64, used time.Duration) {
	if b != nil {
		b.done.Add(min(max(steps, uint64(max(used, 0)/slowStep)), math.MaxInt64))
	}
}

// spent returns an error if the budget is exhausted.
func (b *Budget) spent() error {
	if b == nil || b.done.Load() < b.limit {
		return nil
	}
	return fmt.Errorf("%s", b.message())
}

func (b *Budget) message() string {
	return fmt.Sprintf("too many steps for all sets of parameters together: want at most %d of the interpreter (fix some parameters, or have fewer values)", b.limit)
}

// budgetLeft is a budget as the child is told of it; zero where there is none.
type budgetLeft struct {
	Limit uint64 `json:"limit"`
	Done  uint64 `json:"done"`
}

func (b *Budget) left() budgetLeft {
	if b == nil {
		return budgetLeft{}
	}
	return budgetLeft{b.limit, b.done.Load()}
}

func (l budgetLeft) budget() *Budget {
	if l == (budgetLeft{}) {
		return nil
	}
	b := &Budget{limit: l.Limit}
	b.done.Store(l.Done)
	return b
}

// since returns the steps spent since the child was told of the budget.
func (b *Budget) since(l budgetLeft) uint64 {
	if b == nil {
		return 0
	}
	return b.done.Load() - l.Done
}
