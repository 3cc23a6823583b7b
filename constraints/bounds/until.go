package bounds

import "fmt"

// For thousands of ranks a bound takes seconds of computing flows, far down the
// call chain from where the context was given. So loops check it, and if it is
// over, everything is left at once by a panic that Of turns into an error.

// What takes long for all that, of systems of ten thousands of ranks that are all
// different, is bounded by the work of each row: the rest is left, and said.

// unlooked notes that a row came to so many of all that it has to look at. It must be
// true without the others.
func (p *problem) unlooked(looked, all int, what string) {
	p.left = append(p.left, fmt.Sprintf("%d of %d %s", looked, all, what))
}

// manySpaced is how many are taken by turns where there may be no time for all.
const manySpaced = 1 << 12

// spaced are ranks in an order in which the first stand for all, as well as they can.
func (p *problem) spaced(all []int) []int {
	if len(all) <= manySpaced {
		return all
	}
	order := scattered(len(all))
	for i, at := range order {
		order[i] = all[at]
	}
	return order
}

// ended is the value of the panic.
type ended struct{ err error }

// look panics if the problem's context is over.
func (p *problem) look() {
	if err := p.ctx.Err(); err != nil {
		panic(ended{err})
	}
}

// stopped is deferred by the function that has the context.
func stopped(err *error) {
	switch end := recover().(type) {
	case nil:
	case ended:
		*err = end.err
	default:
		panic(end)
	}
}
