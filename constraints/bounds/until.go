package bounds

// Of thousands of ranks a bound is seconds of flows, far from who was given the
// context. So what goes round looks whether there is time for another turn, and where
// there is none all is left at once, by a panic that Of makes an error again.

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
