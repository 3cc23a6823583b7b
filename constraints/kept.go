package constraints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kept is a formula that a solver keeps between questions, which differ in what
// they assume. What the solver learns about the formula then serves all of them.
//
//	formula ──▶ worker ◀── assume {a, b}  ──▶ sat, a model that passed Check
//	                   ◀── assume {a, ¬c} ──▶ unsat, a claim
//
// A model is checked like any other. That there is no model is only a claim until
// a solver with a fresh state has confirmed it. A worker that dies is replaced and
// given the formula again. A Kept is for one goroutine at a time.
type Kept struct {
	s      *Solvers
	b      *backend
	f      *Formula
	number uint64
	worker *worker // the one that has the formula; nil if none does
	size   [2]int  // variables and rows when the formula was kept
}

// keepers are the solvers that can be asked repeatedly. The embedded one gives
// wrong answers under assumptions.
var keepers = []string{"z3"}

// Keep prepares a formula to be asked about repeatedly. It must not change any
// more and must have no preferences. The result is nil if no solver in use can
// keep formulas.
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

// Ask looks for a model in which the literals hold, within a time limit. Unsat is
// only a claim: see Kept. The error is ctx's, a *SolverError, or a mistake in the
// assumptions.
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
		w, err := k.b.acquire(ctx)
		if err != nil {
			return Answer{}, err
		}
		k.worker = w
	}
	a, usable, err := k.b.exchange(ctx, k.worker, k.f, q)
	if !usable || err != nil { // after a mistake it is unclear whether it has the formula
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

// Deny reports that another solver found a model where Ask claimed that there is
// none. That is a fault of the solver, and the kept formula is not used any more.
func (k *Kept) Deny(what, by string) {
	k.s.options.Notice(fmt.Sprintf("solver %s %s: %s found one of %s", k.b.name, Denied, by, what))
	if k.worker != nil {
		k.b.drop(k.worker)
		k.worker = nil
	}
}

// Close releases the solver.
func (k *Kept) Close() {
	if k.worker != nil {
		k.b.release(k.worker)
		k.worker = nil
	}
}
