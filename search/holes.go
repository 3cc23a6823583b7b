package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// routings are the sets of parameters to trace for a family: its own grid, in
// which a hole stays open where the order the template falls back on holds on
// this system, and where it does not, the grid with what the solver found.
func (e *enumeration) routings(ctx context.Context, f *templates.Family, fixed map[string]string) (grid []script.Params, refused []Refusal, err error) {
	request := e.request()
	grid, err = f.GridFor(e.machine, request, fixed)
	if err != nil {
		return nil, nil, err
	}
	for _, parameter := range f.Holes() {
		if _, given := fixed[parameter.Name]; given {
			continue
		}
		fill, ok := fillers[parameter.Hole]
		if !ok {
			return nil, nil, fmt.Errorf("family %s: parameter %s: nobody fills a hole of kind %q", f.Name, parameter.Name, parameter.Hole)
		}
		for _, n := range counts(f, fixed) {
			open := func(p script.Params) bool { return p[parameter.Name] == nil && ringsOf(p) == n }
			if slices.ContainsFunc(grid, open) {
				continue
			}
			rings, err := fill(e, ctx, n)
			var refusal *Refusal
			if errors.As(err, &refusal) {
				name := candidateName(f.Name, script.Params{"rings": n}, 0)
				refused = append(refused, Refusal{name, refusal.Reason, refusal.Detail})
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			if n > 1 && allEqual(rings) {
				continue // one ring n times over is what instances are
			}
			filled := maps.Clone(fixed)
			filled[parameter.Name] = script.FormatValue(rings)
			if declares(f, "rings") {
				filled["rings"] = script.FormatValue(n)
			}
			more, err := f.GridFor(e.machine, request, filled)
			if err != nil {
				return nil, nil, err
			}
			grid = append(grid, more...)
		}
	}
	return grid, refused, nil
}

func allEqual(rings [][]int) bool {
	return !slices.ContainsFunc(rings, func(r []int) bool { return !slices.Equal(r, rings[0]) })
}

// counts are the numbers of rings a family can be asked for.
func counts(f *templates.Family, fixed map[string]string) []int {
	p, err := f.Parameter("rings")
	if err != nil {
		return []int{1}
	}
	if text, ok := fixed["rings"]; ok {
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

// ringsOf is how many rings a set of parameters asks for.
func ringsOf(p script.Params) int {
	if n, ok := p["rings"].(int); ok {
		return n
	}
	return 1
}

// fillers is the table of holes, by the kind a template declares.
var fillers = map[string]func(e *enumeration, ctx context.Context, n int) ([][]int, error){
	script.HoleRings:     (*enumeration).ringsEverywhere,
	script.HoleNodeRings: (*enumeration).ringsOfNode,
}

func (e *enumeration) ringsEverywhere(ctx context.Context, n int) ([][]int, error) {
	return e.solve(ctx, e.problem.Topology, n)
}

// ringsOfNode are rings through the first node's GPUs; a template takes them
// for every node, and its links are checked there like all others.
func (e *enumeration) ringsOfNode(ctx context.Context, n int) ([][]int, error) {
	return e.solve(ctx, e.problem.Topology.Node(0), n)
}

// ringTime is how long solvers may be asked for rings. Those of the catalogue need
// none.
const ringTime = 20 * time.Second

// hole is a question for the solver.
type hole struct{ ranks, rings int }

// found is a solved hole, or why it cannot be filled.
type found struct {
	rings [][]int
	err   error
}

// without tells of a hole of fewer rings through the same ranks that could not be
// filled, the fewest.
func (e *enumeration) without(at hole) (least struct {
	rings int
	why   string
}, ok bool) {
	for h, f := range e.holes {
		var refusal *Refusal
		if h.ranks == at.ranks && h.rings < at.rings && (!ok || h.rings < least.rings) && errors.As(f.err, &refusal) {
			least.rings, least.why, ok = h.rings, refusal.Detail, true
		}
	}
	return least, ok
}

// solve asks the solver for n rings through all ranks, once, and checks its
// answer on the topology without it.
func (e *enumeration) solve(ctx context.Context, t *topologies.Topology, n int) ([][]int, error) {
	at := hole{len(t.Ranks), n}
	if f, ok := e.holes[at]; ok {
		return f.rings, f.err
	}
	if fewer, ok := e.without(at); ok {
		// Some of more rings would be the fewer ones.
		f := found{nil, &Refusal{Reason: NoHole, Detail: fmt.Sprintf("not even %d: %s", fewer.rings, fewer.why)}}
		e.holes[at] = f
		return nil, f.err
	}
	answer, err := constraints.Rings(ctx, e.solvers, t, constraints.RingOptions{Count: n, SolverTime: ringTime})
	var none *constraints.NoRingError
	var late *constraints.RingTimeoutError
	switch {
	case errors.As(err, &none), errors.As(err, &late):
		err = &Refusal{Reason: NoHole, Detail: err.Error()}
	case err != nil:
		return nil, err // a solver lost: not a property of the topology
	default:
		if err := constraints.CheckRings(t, answer.Orders); err != nil {
			return nil, fmt.Errorf("rings from %s: %w", answer.By, err)
		}
	}
	if e.holes == nil {
		e.holes = map[hole]found{}
	}
	e.holes[at] = found{answer.Orders, err}
	return answer.Orders, err
}
