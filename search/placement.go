package search

import (
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
)

// placement is one of a request's placements, whose candidates are enumerated.
type placement struct {
	*program.Builder
	problem *Problem // of the placement alone
	options *Options
	asked   []*templates.Family
	expired deadline
	index   int // among the placements
	of      int // the number of placements
}

// eachPlacement does something with each placement of a request, and ends its solvers. cache is
// nil where there is none, and expired where there is time for all.
func (r *request) eachPlacement(cache *program.Cache, expired deadline, do func(*placement) error) error {
	placements := r.problem.placements()
	for i := range placements {
		one := &placements[i]
		p := &placement{program.New(one.target(), r.options.building(cache)), one, &r.options, r.asked, expired, i, len(placements)}
		if err := p.closing(do); err != nil {
			return err
		}
	}
	return nil
}

// closing does something with a placement and ends its solvers, whatever comes.
func (p *placement) closing(do func(*placement) error) error {
	defer p.Close()
	return do(p)
}

// late returns a function that reports whether a stage begins nothing more, once a part
// of it has to be done.
func (p *placement) late(s stage, part float64) program.Late {
	return func() bool { return p.expired != nil && p.expired(s, p.index, p.of, part) }
}
