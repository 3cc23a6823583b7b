package constraints

import (
	"context"
	"errors"
	"fmt"
)

// Stating a formula of millions of rows takes seconds, in code that has no other reason to
// check a context. So the formula checks it, and carries its error like any other mistake:
//
//	f := constraints.NewFormula("large").Until(ctx)
//	for … {
//		if f.Err() != nil {
//			return f // stating more is a waste of time
//		}
//		…
//	}

// ErrDeadline means that a context ended while a formula was being stated. It wraps
// the context's error.
var ErrDeadline = errors.New("a formula was not stated in time")

// checkInterval is the number of variables, rows and terms stated between two
// checks of the context.
const checkInterval = 1 << 12

// Until gives the formula the error ErrDeadline once ctx has ended. It changes f and
// returns it.
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
	f.sinceCheck = 0
	if f.ctx != nil && f.err == nil && f.ctx.Err() != nil {
		f.err = fmt.Errorf("formula %s: %w: %w", f.Name, ErrDeadline, f.ctx.Err())
	}
}
