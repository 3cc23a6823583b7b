package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/templates"
)

// routings lists the sets of parameters to trace for a family: its own grid, in
// which a hole stays open if the template's fallback works on this system;
// otherwise the grid with every way to fill the hole. With several holes, each is
// filled in every way for each way of filling those before it.
func (b *Builder) routings(ctx context.Context, f *templates.Family, fixed map[string]string) (grid []script.Params, refused []Refusal, err error) {
	ways := []way{{fixed: fixed}}
	if ways[0].grid, err = f.GridFor(b.machine, b.target.Request(), fixed, b.options.jobs()); err != nil {
		return nil, nil, err
	}
	for _, parameter := range f.Holes() {
		if _, given := fixed[parameter.Name]; given {
			continue
		}
		by, ok := fillers[parameter.Hole]
		if !ok {
			return nil, nil, fmt.Errorf("family %s: parameter %s: nobody fills a hole of kind %q", f.Name, parameter.Name, parameter.Hole)
		}
		open := ways
		for _, filler := range by {
			for _, w := range open {
				more, no, err := b.fill(ctx, f, parameter.Name, filler, w)
				if err != nil {
					return nil, nil, err
				}
				ways = append(ways, more...)
				for _, r := range no {
					if !slices.Contains(refused, r) {
						refused = append(refused, r)
					}
				}
			}
		}
	}
	for _, w := range ways {
		grid = append(grid, w.grid...)
	}
	return grid, refused, nil
}

// way is a family with some of its parameters fixed, and the sets of parameters
// with which it then applies.
type way struct {
	fixed map[string]string
	grid  []script.Params
}

// fill returns the ways to fill a hole, one for each number of lists that the
// family can use.
func (b *Builder) fill(ctx context.Context, f *templates.Family, hole string, by filler, w way) (ways []way, refused []Refusal, err error) {
	tried := counts(f, by.counted, w.fixed)
	for _, n := range tried {
		open := func(p script.Params) bool { return p[hole] == nil && countOf(p, by.counted) == n }
		lists, err := by.fill(b.holes, ctx, question{family: f, count: n, open: slices.ContainsFunc(w.grid, open)})
		var refusal *Refusal
		if errors.As(err, &refusal) {
			params := script.Params{}
			if by.counted != "" {
				params[by.counted] = n
			}
			refused = append(refused, Refusal{CandidateName(f.Name, params, 0), refusal.Reason, refusal.Detail})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if fewer := distinct(lists); lists == nil || fewer < n && slices.Contains(tried, fewer) {
			continue // more instances of the fewer lists do the same
		}
		filled := maps.Clone(w.fixed)
		filled[hole] = script.FormatValue(lists)
		if Declares(f, by.counted) {
			filled[by.counted] = script.FormatValue(n)
		}
		grid, err := f.GridFor(b.machine, b.target.Request(), filled, b.options.jobs())
		if err != nil {
			return nil, nil, err
		}
		ways = append(ways, way{filled, grid})
	}
	return ways, refused, nil
}

// counts lists the numbers of lists that a family can use.
func counts(f *templates.Family, counted string, fixed map[string]string) []int {
	p, err := f.Parameter(counted)
	if err != nil {
		return []int{1}
	}
	if text, ok := fixed[counted]; ok {
		if v, err := p.ParseValue(text); err == nil {
			return []int{v.(int)}
		}
	}
	var all []int
	for _, v := range p.All() {
		all = append(all, v.(int))
	}
	return all
}

// distinct returns how many lists there are, counting those once that are all there as
// many times.
func distinct(lists [][]int) int {
	times := map[string]int{}
	for _, l := range lists {
		times[fmt.Sprint(l)]++
	}
	for _, n := range times {
		if n*len(times) != len(lists) {
			return len(lists)
		}
	}
	return len(times)
}

// countOf is how many lists a set of parameters asks for.
func countOf(p script.Params, counted string) int {
	if n, ok := p[counted].(int); ok {
		return n
	}
	return 1
}

// filler is a row of the table of holes.
type filler struct {
	counted string // the parameter that gives the number of lists
	// fill finds the lists; nil means that the family's fallback is as good.
	fill func(*holes, context.Context, question) ([][]int, error)
}

// fillers is the table of holes, by the kind a template declares: all that fill it.
var fillers = map[string][]filler{
	script.HoleRings:     {{"rings", (*holes).ringsEverywhere}, {"rings", (*holes).ringsByBlocks}},
	script.HoleNodeRings: {{"rings", (*holes).ringsOfNode}},
	script.HoleTrees:     {{"trees", (*holes).parents}},
	script.HoleNICs:      {{"", (*holes).ownOrOtherNICs}},
}

// grid is a family's sets of parameters to trace.
type grid struct {
	Params  []script.Params `json:"params"`
	Refused []Refusal       `json:"refused"`
	Why     string          `json:"why,omitempty"` // why the family does not apply at all
}
