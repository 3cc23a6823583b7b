// Package contexttest has contexts for tests that end after a number of calls of
// Err, so that a test can end a function at each place where it checks its context,
// whatever the machine's speed.
//
//	ctx := &contexttest.Countdown{Context: t.Context(), N: 3}
//	ctx.Err()   nil, nil, nil, context.Canceled, …
//
// A context that has ended stays so. Its Done channel is not closed. Only tests
// import this package.
package contexttest
