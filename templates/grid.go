package templates

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

// maxGrid limits the number of sets of parameters of a family.
const maxGrid = 1 << 14

// LargeGridError reports a family with more than 16384 sets of parameters.
type LargeGridError struct{ family string }

// Error names the family.
func (e *LargeGridError) Error() string {
	return fmt.Sprintf("%s: more than %d sets of parameters: fix some of them", e.family, maxGrid)
}

// Holes lists the parameters that a solver chooses.
func (f *Family) Holes() []script.Parameter {
	var holes []script.Parameter
	for _, p := range f.Parameters {
		if p.Hole != "" {
			holes = append(holes, p)
		}
	}
	return holes
}

// Grid enumerates the sets of parameters with which the family applies to a
// collective on a machine: all declared values of each, the last one declared
// changing fastest. fixed holds values that the user chose, as text. Holes without
// one stay unfilled (nil). The error is a *LargeGridError, about a wrong value in fixed,
// or that of the template's own code.
func (f *Family) Grid(m script.Machine, coll string, fixed map[string]string) ([]script.Params, error) {
	return f.GridFor(m, script.Request{Collective: coll, InPlace: collective.DefaultInPlace(coll)}, fixed, 1)
}

// Budgeted returns the family with a budget of steps that everything run from it
// shares, as an enumeration needs. Built-in families are trusted and get none; a
// family that has a budget keeps it.
func (f *Family) Budgeted(m script.Machine) *Family {
	if f.Limited() || f.Source == builtinSource {
		return f
	}
	return &Family{Template: f.WithBudget(script.NewBudget(m)), Source: f.Source}
}

// GridFor is Grid for a full request, with its counts, root and placement, and with up to jobs
// sets of parameters looked at at a time. Errors are Grid's.
func (f *Family) GridFor(m script.Machine, q script.Request, fixed map[string]string, jobs int) ([]script.Params, error) {
	axes, err := f.axes(fixed)
	if err != nil {
		return nil, err
	}
	f = f.Budgeted(m)
	if f.Limited() {
		jobs = 1 // what a budget allows must not depend on their number
	}
	var points [][]int
	for at, more := make([]int, len(axes)), true; more; more = next(at, axes) {
		points = append(points, slices.Clone(at))
	}
	admission := f.Admission(m, q)
	sets, admits, errs := make([]script.Params, len(points)), make([]bool, len(points)), make([]error, len(points))
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(max(jobs, 1))
	for i, at := range points {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			sets[i] = f.at(axes, at)
			if admits[i], _, errs[i] = admission(sets[i]); errs[i] != nil {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait()
	var grid []script.Params
	for i := range points {
		switch {
		case errs[i] != nil:
			return nil, errs[i]
		case admits[i]:
			grid = append(grid, sets[i])
		}
	}
	return grid, nil
}

// First returns the first set of parameters of the grid. If the grid is empty, the
// error is the reason that the family gives for its default parameters.
func (f *Family) First(m script.Machine, q script.Request) (params script.Params, why string, err error) {
	axes, err := f.axes(nil)
	if err != nil {
		return nil, "", err
	}
	f = f.Budgeted(m)
	at, admission := make([]int, len(axes)), f.Admission(m, q)
	for more := true; more; more = next(at, axes) {
		params := f.at(axes, at)
		yes, _, err := admission(params)
		if err != nil || yes {
			return params, "", err
		}
	}
	_, why, err = f.Admits(m, q, nil)
	if why == "" {
		why = "it applies with none of its parameters"
	}
	return nil, why, err
}

// at returns the set of parameters at a point of the grid.
func (f *Family) at(axes [][]any, at []int) script.Params {
	params := make(script.Params, len(axes))
	for i, p := range f.Parameters {
		params[p.Name] = axes[i][at[i]]
	}
	return params
}

// axes lists the values that each parameter takes.
func (f *Family) axes(fixed map[string]string) ([][]any, error) {
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		if _, err := f.Parameter(name); err != nil {
			return nil, err
		}
	}
	axes, size := make([][]any, len(f.Parameters)), 1
	for i, p := range f.Parameters {
		if text, ok := fixed[p.Name]; ok {
			v, err := p.ParseValue(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			axes[i] = []any{v}
			continue
		}
		if size *= p.Size(); size > maxGrid {
			return nil, &LargeGridError{f.Name}
		}
		axes[i] = p.All()
	}
	return axes, nil
}

// next advances at to the following point of a grid, the last axis fastest. It
// returns false after the last point.
func next(at []int, axes [][]any) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i]++; at[i] < len(axes[i]) {
			return true
		}
		at[i] = 0
	}
	return false
}
