// Package looks has tests end what they call after a number of looks at its context,
// and so at every place where it looks, whatever the machine's speed.
//
//	ctx := &looks.Left{Context: t.Context(), N: 3}
//	ctx.Err()   nil, nil, nil, context.Canceled, …
//
// Invariant: a context that has ended has ended for good; N says how many looks came
// after, below 0.
//
// It closes no Done channel: what waits for one is not ended by it. Nothing but tests
// imports it.
package looks
