package constraints

import (
	"context"
	"errors"
	"fmt"
)

// Stating a formula of millions of rows takes seconds, in code that has no other
// reason to check a deadline. So the formula checks it: when its context has
// ended, it panics, and RecoverDeadline turns the panic into an error. Code that
// runs as long without stating constraints calls CheckDeadline:
//
//	func find(ctx context.Context) (err error) {
//		defer constraints.RecoverDeadline(&err)
//		f := constraints.NewFormula("large").Until(ctx)
//		…
//		constraints.CheckDeadline(ctx)
//	}

// ErrDeadline means that a context ended while a formula was being stated. It wraps
// the context's error.
var ErrDeadline = errors.New("a formula was not stated in time")

// deadlinePanic is the value of the panic.
type deadlinePanic struct{ err error }

// checkInterval is the number of variables, rows and terms stated between two
// checks of the context.
const checkInterval = 1 << 12

// Until makes every method that adds to the formula panic once ctx has ended: see
// RecoverDeadline. It changes f and returns it.
func (f *Formula) Until(ctx context.Context) *Formula {
	f.ctx = ctx
	return f
}

// count adds n to the variables, rows and terms stated, and checks the context
// once every checkInterval of them.
func (f *Formula) count(n int) {
	if f.sinceCheck += n; f.sinceCheck < checkInterval {
		return
	}
	if f.sinceCheck = 0; f.ctx != nil {
		if err := f.ctx.Err(); err != nil {
			panic(deadlinePanic{fmt.Errorf("%w: %w", ErrDeadline, err)})
		}
	}
}

// CheckDeadline panics if the context has ended: see RecoverDeadline.
func CheckDeadline(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		panic(deadlinePanic{err})
	}
}

// RecoverDeadline turns the panic of an ended context into an error. Code that
// states a formula with a context, or calls CheckDeadline, must defer it. Other
// panics go on.
func RecoverDeadline(err *error) {
	switch late := recover().(type) {
	case nil:
	case deadlinePanic:
		*err = late.err
	default:
		panic(late)
	}
}
