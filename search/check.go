package search

import "github.com/colltune/colltune/templates"

// Check refuses a search that has no meaning, before anything is made of it: a
// problem nobody has, a family that is not there or does not do the collective,
// a template that cannot be read. It is cheap; Enumerate checks the same.
func Check(p Problem, o Options) error {
	if err := p.check(); err != nil {
		return err
	}
	all, asked, err := o.families()
	if err != nil {
		return err
	}
	if len(templates.ForCollective(asked, p.Collective)) == 0 {
		return noFamily(all, &p)
	}
	return nil
}
