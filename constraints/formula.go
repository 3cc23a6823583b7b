package constraints

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Lit is a literal: the number of a variable, from 1, or that number negated. 0 is
// not a literal. The constants True and False are literals too; add folds them
// into the bound, so that solvers never see them.
type Lit int32

// The constant literals. They have no variable, and Not exchanges them.
const (
	True  Lit = math.MaxInt32
	False Lit = -True
)

// Not returns the negation of l.
func (l Lit) Not() Lit { return -l }

// Variable is the index of the literal's variable in a model.
func (l Lit) Variable() int {
	if l < 0 {
		l = -l
	}
	return int(l) - 1
}

// Term adds Weight to a sum if Lit holds. Weight may be negative.
type Term struct {
	Weight int
	Lit    Lit
}

// Limits of a formula. MaxSum, on the sum of a row's absolute weights and on its bound,
// is that of the narrowest solver; the others keep an encoding from filling memory.
const (
	MaxVariables = 1 << 24
	maxTerms     = 1 << 27
	MaxSum       = 1 << 30
)

// relation compares a row's sum with its bound.
type relation uint8

const (
	atLeast relation = iota
	atMost
	exactly
)

var relationNames = [...]string{">=", "<=", "="}

// row is a constraint as stated: the weighted sum of the terms [first, last) has
// the relation to bound.
type row struct {
	first, last int32
	bound       int32
	is          relation
}

// Formula is a conjunction of linear constraints over Boolean variables. A clause
// is a constraint whose sum is at least 1. Constraints are stored as stated, so
// that Check judges a model by what the caller asked for and not by the normal form
// sent to solvers.
//
// Methods that add to a formula return no errors. The first mistake, such as too
// large a weight or an undefined literal, is returned by Err, Check and Solve.
//
// A Formula must not be used by several goroutines while one of them changes it.
type Formula struct {
	Name string // for dumps and errors

	variables  int
	names      []string // by variable; "" and missing entries print as x1, x2, …
	lits       []Lit
	weights    []int32
	rows       []row
	prefer     [][]Lit
	err        error
	ctx        context.Context // limits stating; nil means no limit
	sinceCheck int             // variables, rows and terms stated since ctx was last checked
}

// ErrTooLarge means that a formula would have more than 2²⁴ variables or 2²⁷ terms.
var ErrTooLarge = errors.New("too large to be stated")

// NewFormula returns a formula without variables and constraints. The name is for
// dumps and errors.
func NewFormula(name string) *Formula { return &Formula{Name: name} }

// Err returns the first mistake made in stating the formula.
func (f *Formula) Err() error { return f.err }

func (f *Formula) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("formula %s: "+format, append([]any{f.Name}, args...)...)
	}
}

// Variables returns the number of variables, which is also a model's length.
func (f *Formula) Variables() int { return f.variables }

// Rows returns the number of constraints.
func (f *Formula) Rows() int { return len(f.rows) }

// Bool adds a variable and returns its literal. The name is for dumps and errors
// and may be empty.
func (f *Formula) Bool(name string) Lit {
	f.count(1)
	if f.err == nil && f.variables >= MaxVariables {
		f.fail("%w: %d variables", ErrTooLarge, MaxVariables)
	}
	if f.err != nil {
		return True
	}
	f.variables++
	if name != "" {
		for len(f.names) < f.variables {
			f.names = append(f.names, "")
		}
		f.names[f.variables-1] = name
	}
	return Lit(f.variables)
}

// name returns the name of a literal for dumps and errors.
func (f *Formula) name(l Lit) string {
	switch {
	case l == True:
		return "true"
	case l == False:
		return "false"
	case l < 0:
		return "not " + f.name(-l)
	case l.Variable() < len(f.names) && f.names[l.Variable()] != "":
		return f.names[l.Variable()]
	}
	return fmt.Sprintf("x%d", int32(l))
}

// add appends a row. Constant literals are moved into the bound, so that rows
// contain only variables.
func (f *Formula) add(is relation, bound int, n int, term func(i int) Term) {
	f.count(1 + n)
	if f.err != nil {
		return
	}
	first := len(f.lits)
	if first+n > maxTerms {
		f.fail("%w: %d terms, and at most %d are taken", ErrTooLarge, first+n, maxTerms)
		return
	}
	sum := 0
	for i := range n {
		t := term(i)
		if t.Weight > MaxSum || t.Weight < -MaxSum {
			f.fail("weight %d: want at most %d", t.Weight, MaxSum)
			return
		}
		sum += max(t.Weight, -t.Weight)
		switch {
		case t.Lit == True:
			bound -= t.Weight
		case t.Lit == False || t.Weight == 0:
		case t.Lit == 0 || t.Lit.Variable() >= f.variables || t.Lit.Variable() < 0:
			f.fail("literal %d: want 1 to %d, or one of these negated", int32(t.Lit), f.variables)
			return
		default:
			f.lits = append(f.lits, t.Lit)
			f.weights = append(f.weights, int32(t.Weight))
		}
		if sum > MaxSum {
			f.fail("weights of one sum that add up to more than %d", MaxSum)
			return
		}
	}
	bound = min(max(bound, -MaxSum-1), MaxSum+1) // no sum can reach a bound beyond this
	f.rows = append(f.rows, row{int32(first), int32(len(f.lits)), int32(bound), is})
}

func (f *Formula) addLits(is relation, bound int, lits []Lit) {
	f.add(is, bound, len(lits), func(i int) Term { return Term{1, lits[i]} })
}

func (f *Formula) addTerms(is relation, bound int, terms []Term) {
	f.add(is, bound, len(terms), func(i int) Term { return terms[i] })
}

// Clause requires at least one of the literals. An empty clause is false.
func (f *Formula) Clause(lits ...Lit) { f.addLits(atLeast, 1, lits) }

// Implies requires at least one of the literals if all premises hold.
func (f *Formula) Implies(premises []Lit, lits ...Lit) {
	n := len(premises)
	f.add(atLeast, 1, n+len(lits), func(i int) Term {
		if i < n {
			return Term{1, premises[i].Not()}
		}
		return Term{1, lits[i-n]}
	})
}

// AtLeast requires k or more of the literals. A literal given twice counts twice.
func (f *Formula) AtLeast(k int, lits ...Lit) { f.addLits(atLeast, k, lits) }

// AtMost allows k or fewer of the literals.
func (f *Formula) AtMost(k int, lits ...Lit) { f.addLits(atMost, k, lits) }

// Exactly requires k of the literals, no more and no fewer.
func (f *Formula) Exactly(k int, lits ...Lit) { f.addLits(exactly, k, lits) }

// SumAtLeast requires that the weights of the terms whose literals hold add up to k
// or more.
func (f *Formula) SumAtLeast(k int, terms ...Term) { f.addTerms(atLeast, k, terms) }

// SumAtMost requires that they add up to k or less.
func (f *Formula) SumAtMost(k int, terms ...Term) { f.addTerms(atMost, k, terms) }

// SumExactly requires that they add up to exactly k.
func (f *Formula) SumExactly(k int, terms ...Term) { f.addTerms(exactly, k, terms) }

// And returns a new literal that holds exactly if all of the literals do.
func (f *Formula) And(lits ...Lit) Lit {
	both := f.Bool("")
	for _, l := range lits {
		f.Clause(both.Not(), l)
	}
	f.Implies(lits, both)
	return both
}

// Prefer asks for a model in which the first of these literals that can hold does
// hold. Earlier calls take precedence over later ones. If the preferences determine
// all variables, every solver returns the same model. Preferences never make a
// formula unsatisfiable.
func (f *Formula) Prefer(lits ...Lit) {
	for _, l := range lits {
		if l == 0 || l == True || l == False || l.Variable() >= f.variables {
			f.fail("preferred literal %d: want 1 to %d, or one of these negated", int32(l), f.variables)
			return
		}
	}
	f.prefer = append(f.prefer, append([]Lit(nil), lits...))
}

// Preferences returns the lists given to Prefer, in order. They are the formula's own.
func (f *Formula) Preferences() [][]Lit { return f.prefer }
