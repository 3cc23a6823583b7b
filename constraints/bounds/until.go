package bounds

import "fmt"

// Of thousands of ranks a bound is seconds of flows, far from who was given the
// context. So what goes round looks whether there is time for another turn, and where
// there is none all is left at once, by a panic that Of makes an error again.

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

// ended is what is panicked with.
type ended struct{ err error }

// look leaves the bound where its context is over.
func (p *problem) look() {
	if err := p.ctx.Err(); err != nil {
		panic(ended{err})
	}
}

// stopped is to be deferred by who has a context.
func stopped(err *error) {
	switch end := recover().(type) {
	case nil:
	case ended:
		*err = end.err
	default:
		panic(end)
	}
}
