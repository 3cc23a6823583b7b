package constraints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kept is a formula that a solver keeps between questions, which differ in what
// they assume. What it learns of the formula serves all of them.
//
//	formula ──▶ worker ◀── assume {a, b}  ──▶ sat, a model that passed Check
//	                   ◀── assume {a, ¬c} ──▶ unsat, a claim
//
// A model is checked as any is. That there is none is what a solver says that has
// been asked much before, and no proof until one that has not has said the same.
// A worker that ends is replaced, and told the formula again. For one goroutine
// at a time.
type Kept struct {
	s      *Solvers
	b      *backend
	f      *Formula
	number uint64
	worker *worker // which has the formula; nil: none
	size   [2]int  // variables and rows, as they were when it was taken
}

// keepers are the solvers that may be asked again. The embedded one may not: it
// answers wrongly under assumptions.
var keepers = []string{"z3"}

// Keep takes a formula to be asked again and again, which must not change any
// more and has no preferences; nil where no solver in use keeps formulas.
func (s *Solvers) Keep(f *Formula) (*Kept, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	if len(f.prefer) > 0 {
		return nil, fmt.Errorf("formula %s has preferences: want none of one that is kept", f.Name)
	}
	for _, b := range s.backends {
		if slices.Contains(keepers, b.name) {
			return b.keep(s, f), nil
		}
	}
	return nil, nil
}

func (b *backend) keep(s *Solvers, f *Formula) *Kept {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept++
	return &Kept{s: s, b: b, f: f, number: b.kept, size: [2]int{f.variables, len(f.rows)}}
}

// Ask asks for a model in which the literals hold, for at most so long. Unsat is
// the solver's claim, see Kept. The error is ctx's, a *SolverError, or a
// mistake in what is assumed.
func (k *Kept) Ask(ctx context.Context, limit time.Duration, assume ...Lit) (Answer, error) {
	if k.size != [2]int{k.f.variables, len(k.f.rows)} {
		return Answer{}, fmt.Errorf("formula %s has changed since it was kept", k.f.Name)
	}
	var lits []Lit
	for _, l := range assume {
		switch {
		case l == True:
		case l == False:
			return Answer{Status: Unsat, By: k.b.name}, nil
		case l == 0 || l.variable() >= k.f.variables:
			return Answer{}, fmt.Errorf("formula %s: assumed literal %d: want 1 to %d, or one of these negated", k.f.Name, int32(l), k.f.variables)
		default:
			lits = append(lits, l)
		}
	}
	start := time.Now()
	q := question{limit: limit, keep: k.number, assume: lits, known: k.worker != nil && k.worker.Alive()}
	if !q.known {
		if k.worker != nil {
			k.b.drop(k.worker)
			k.worker = nil
		}
		w, err := k.b.take(ctx)
		if err != nil {
			return Answer{}, err
		}
		k.worker = w
	}
	a, usable, err := k.b.put(ctx, k.worker, k.f, q)
	if !usable || err != nil { // after a mistake it may not have the formula
		k.b.drop(k.worker)
		k.worker = nil
	}
	var fault *SolverError
	if errors.As(err, &fault) {
		k.s.options.Notice(firstLine(err) + ", asked of a formula that it kept")
	}
	a.Seconds = time.Since(start).Seconds()
	return a, err
}

// Deny tells that another solver found a model where Ask claimed that there is
// none: a solver's fault, and what it keeps is not asked any more.
func (k *Kept) Deny(what, by string) {
	k.s.options.Notice(fmt.Sprintf("solver %s %s: %s found one of %s", k.b.name, Denied, by, what))
	if k.worker != nil {
		k.b.drop(k.worker)
		k.worker = nil
	}
}

// Close gives the solver up.
func (k *Kept) Close() {
	if k.worker != nil {
		k.b.give(k.worker)
		k.worker = nil
	}
}
