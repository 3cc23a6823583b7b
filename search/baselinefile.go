package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
)

// BaselineFile is a file of nccl-tests' output that a search is compared with.
type BaselineFile struct {
	Name string // base name
	Text string
}

type place struct {
	bytes     int64
	placement string
}

// Measured reads the file as measurements of a problem. A file for another call is an error, and
// so is one with none of the problem's sizes.
func (f *BaselineFile) Measured(p *Problem) (*measured.CallTimes, error) {
	over, err := p.Over(len(p.Topology.Ranks), p.InPlace)
	if err != nil {
		return nil, err
	}
	times, err := measured.ReadCallTimes(f.Name, []byte(f.Text), p.Call, over)
	if err != nil {
		return nil, err
	}
	if all := times.Sizes(); !slices.ContainsFunc(p.Sizes, func(n int64) bool { return slices.Contains(all, n) }) {
		return nil, fmt.Errorf("%s: has none of the sizes searched for: it has %s to %s", f.Name, units.Bytes(all[0]), units.Bytes(all[len(all)-1]))
	}
	return times, nil
}

// Points returns what a file has of a problem, and the library that it names in other states, nil of
// sizes that the file lacks. Errors are Measured's, and ctx's.
func (f *BaselineFile) Points(ctx context.Context, p *Problem, o Options) (at func(bytes int64, placement string) results.Point, err error) {
	o.Baseline, o.Release, o.Unregistered = f, library.Release{}, false
	given, err := o.given(p)
	if err != nil {
		return nil, err
	}
	var space Space
	for _, one := range p.placements() {
		b := program.New(one.target(), o.building(nil))
		beside, err := o.besideGiven(ctx, b, &one)
		b.Close()
		if err != nil {
			return nil, err
		}
		space.baselines = append(space.baselines, beside...)
	}
	points := map[place]results.Point{}
	for _, point := range space.tallyPoints(p, &o, given, nil) {
		points[place{point.Bytes, point.Placement}] = point
	}
	return func(bytes int64, placement string) results.Point { return points[place{bytes, placement}] }, nil
}

// version is that of the library, as the file says; empty: it does not, or is no such file.
func (f *BaselineFile) version() string {
	return measured.VersionIn(f.Name, []byte(f.Text))
}

// times returns what a file has of a problem, nil where it has no time. Errors are Measured's.
func (f *BaselineFile) times(p *Problem) (at func(bytes int64, placement string) *results.Baseline, err error) {
	m, err := f.Measured(p)
	return func(bytes int64, placement string) *results.Baseline {
		us, checked := m.At(bytes, placement)
		switch {
		case len(us) == 0:
			return nil
		case checked:
			return &results.Baseline{Name: f.Name, TimeUS: results.Median(us), Data: results.Checked}
		}
		return &results.Baseline{Name: f.Name, TimeUS: results.Median(us), Data: results.Unchecked}
	}, err
}
