package search

// Check refuses a search that has no meaning, before anything is made of it: a
// problem nobody has, a family that is not there, a template that cannot be
// read. It is cheap; Enumerate checks the same.
func Check(p Problem, o Options) error {
	if err := p.check(); err != nil {
		return err
	}
	_, _, err := o.families()
	return err
}
