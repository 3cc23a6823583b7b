package constraints

import (
	"context"
	"errors"
	"fmt"
)

// Stating a formula of millions of rows takes seconds, in code that otherwise has
// no reason to check a deadline. So the formula checks it: when its context is
// over, the code that states it is left by a panic, which Overdue turns into an
// error. Code that works as long without stating anything calls Look:
//
//	func find(ctx context.Context) (err error) {
//		defer constraints.Overdue(&err)
//		f := constraints.NewFormula("large").Until(ctx)
//		…
//		constraints.Look(ctx)
//	}

// ErrOverdue says that a context ended while a formula was being stated.
var ErrOverdue = errors.New("a formula was not stated in time")

// overdue is the value of the panic.
type overdue struct{ err error }

// looks is how many variables, rows and terms are stated between two checks.
const looks = 1 << 12

// Until makes stating the formula end when the context does: see Overdue.
func (f *Formula) Until(ctx context.Context) *Formula {
	f.until = ctx
	return f
}

// look counts what is stated, and now and then checks the context.
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

// Look panics if the context is over: see Overdue.
func Look(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		panic(overdue{err})
	}
}

// Overdue is to be deferred by code that states formulas with a context, or calls
// something that uses Look. It turns the end of that context into an ordinary
// error.
func Overdue(err *error) {
	switch late := recover().(type) {
	case nil:
	case overdue:
		*err = late.err
	default:
		panic(late)
	}
}
