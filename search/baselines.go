package search

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// compare adds the times that come from a draft to the candidate with its program, and to the
// space.
func (s *Space) compare(c *autotune.Candidate, d *program.Draft, times []library.Time, inPlace bool) {
	for _, t := range times {
		if t.Draft == d {
			c.Baseline = append(c.Baseline, autotune.Point{Bytes: t.Bytes, Protocol: t.Protocol, TileBytes: t.Tile})
			s.baselines = append(s.baselines, baseline{Time: t, inPlace: inPlace, hash: c.Hash})
		}
	}
}

// point is the baseline as the journal keeps it.
func (b *baseline) point(t *topologies.Topology) *results.Baseline {
	if b.given != nil {
		return b.given
	}
	point := &results.Baseline{Name: b.Name, TimeUS: b.US, Program: b.hash, Protocol: b.Protocol.String()}
	switch b.From {
	case library.Executor:
		point.Protocol = results.ProtocolAuto
	case library.Program:
		point.TileBytes, point.ExtraUS = cmp.Or(b.Tile, int64(t.Protocols[b.Protocol].Tile)), b.ExtraUS
	default: // simulated
		point.Data = results.NoData
	}
	return point
}

// given are the baselines of a problem that the user gives: the fastest of libraries' measured times,
// or else those of a file. They come before what the space has at their size.
func (o *Options) given(p *Problem) (all []baseline, err error) {
	if o.Baseline == nil {
		times, err := o.libraryTimes(p)
		for at, best := range times {
			all = append(all, baseline{Time: library.Time{Bytes: at.bytes, From: library.Measured}, inPlace: at.placement == program.Placement(true),
				given: &results.Baseline{Name: best[0].Entry(), Library: best[0].Library, TimeUS: best[0].TimeUS}})
		}
		return all, err
	}
	at, err := o.Baseline.Baselines(p)
	if err != nil {
		return nil, err
	}
	for _, one := range p.placements() {
		for _, bytes := range p.Sizes {
			if point := at(bytes, program.Placement(one.InPlace)); point != nil {
				all = append(all, baseline{Time: library.Time{Bytes: bytes, From: library.File}, inPlace: one.InPlace, given: point})
			}
		}
	}
	return all, nil
}

// tallyPoints lists the rows' comparisons in the form that the journal keeps: with what the space has,
// or what is given.
func (s *Space) tallyPoints(p *Problem, given []baseline, leastUS func(bytes int64) float64) []results.Point {
	type at struct {
		bytes     int64
		placement string
	}
	baselines := map[at]*results.Baseline{}
	for _, b := range slices.Concat(s.baselines, given) {
		baselines[at{b.Bytes, program.Placement(b.inPlace)}] = b.point(p.Topology)
	}
	var points []results.Point
	for _, one := range p.placements() {
		for _, bytes := range p.Sizes {
			placement := program.Placement(one.InPlace)
			point := results.Point{Bytes: bytes, Placement: placement, Baseline: baselines[at{bytes, placement}]}
			if leastUS != nil {
				point.BoundUS = leastUS(bytes)
			}
			points = append(points, point)
		}
	}
	return points
}
