package search

import (
	"cmp"

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
			s.baselines = append(s.baselines, baseline{t, inPlace, c.Hash})
		}
	}
}

// point is the baseline as the journal keeps it.
func (b *baseline) point(t *topologies.Topology) *results.Baseline {
	point := &results.Baseline{Name: b.Name, Program: b.hash, Protocol: b.Protocol.String(), ExtraUS: b.ExtraUS}
	switch {
	case b.From == library.Executor:
		point.Protocol = results.ProtocolAuto
	case b.US > 0:
		point.TimeUS, point.Data = b.US, results.NoData
	default:
		point.TileBytes = cmp.Or(b.Tile, int64(t.Protocols[b.Protocol].Tile))
	}
	return point
}

// tallyPoints lists the rows' comparisons in the form that the journal keeps.
func (s *Space) tallyPoints(p *Problem, leastUS func(bytes int64) float64) []results.Point {
	type at struct {
		bytes     int64
		placement string
	}
	baselines := map[at]*results.Baseline{}
	for i := range s.baselines {
		b := &s.baselines[i]
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
