package constraints

import (
	"context"
	"errors"
	"fmt"
)

// A formula of millions of rows takes seconds to state, by code that has no other
// reason to look at a clock. So the formula looks, and where its time is over what
// states it is left at once, by a panic that Overdue catches; so is what looks by
// itself, at work as long that states nothing:
//
//	func find(ctx context.Context) (err error) {
//		defer constraints.Overdue(&err)
//		f := constraints.NewFormula("large").Until(ctx)
//		…
//		constraints.Look(ctx)
//	}

// ErrOverdue is that a context was over before a formula was stated.
var ErrOverdue = errors.New("a formula was not stated in time")

// overdue is what is panicked with.
type overdue struct{ err error }

// looks is how many variables, rows and terms go by from one look to the next.
const looks = 1 << 12

// Until has stating the formula end with a context: see Overdue.
func (f *Formula) Until(ctx context.Context) *Formula {
	f.until = ctx
	return f
}

// look ends what states the formula where its context is over. It is told how much is
// stated.
func (f *Formula) look(more int) {
	if f.stated += more; f.stated < looks {
		return
	}
	if f.stated = 0; f.until != nil {
		if err := f.until.Err(); err != nil {
			panic(overdue{fmt.Errorf("%w: %w", ErrOverdue, err)})
		}
	}
}

// Look ends what is being done where the context is over: see Overdue.
func Look(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		panic(overdue{err})
	}
}

// Overdue is to be deferred by who states formulas that have a context, or calls what
// looks at one: it makes that context's end an error like any other.
func Overdue(err *error) {
	switch late := recover().(type) {
	case nil:
	case overdue:
		*err = late.err
	default:
		panic(late)
	}
}
