package search

import (
	"context"

	"github.com/colltune/colltune/search/program"
)

// Estimate is what a number of instances of a routing is expected to take, by its costs
// (program/cost), before it is compiled.
type Estimate struct {
	Algorithm  string
	Source     string // template or synthesised
	Parameters map[string]any
	Instances  int
	Placement  string // in or out
	Times      []EstimatedTime
}

// EstimatedTime is an estimate with a protocol and a tile, at a size.
type EstimatedTime struct {
	Bytes     int64
	Protocol  string
	TileBytes int64
	US        float64
}

// Estimates returns the estimates of all candidates of a problem that may fit on the GPUs, for
// all its placements. Nothing is compiled. Errors are as those of Enumerate.
func Estimates(ctx context.Context, p Problem, o Options) ([]Estimate, error) {
	r, err := resolve(p, o)
	if err != nil {
		return nil, err
	}
	return abandonable(ctx, r, func(r *request) (all []Estimate, err error) {
		err = r.eachPlacement(nil, nil, func(p *placement) error {
			some, err := p.estimates(ctx)
			all = append(all, some...)
			return err
		})
		return all, err
	})
}

func (p *placement) estimates(ctx context.Context) (all []Estimate, err error) {
	if _, err := p.Solvers(); err != nil {
		return nil, err
	}
	found, err := p.drafts(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.Summarize(ctx, found.Drafts, true); err != nil {
		return nil, err
	}
	for _, d := range found.Drafts {
		if p.Unfitting(d) != nil {
			continue
		}
		one := Estimate{Algorithm: d.Name, Source: d.Source, Parameters: program.Set(d.Params), Instances: d.Instances, Placement: program.Placement(p.problem.InPlace)}
		for _, proto := range p.Protocols(d.Protocol) {
			c := &p.problem.Topology.Protocols[proto]
			for _, tile := range p.Tiles(c) {
				for _, bytes := range p.problem.Sizes {
					us := d.Routing.Cost().Tiled(c, max(float64(tile), 1), bytes, float64(max(d.Instances, 1)))
					one.Times = append(one.Times, EstimatedTime{bytes, proto.String(), int64(tile), us})
				}
			}
		}
		all = append(all, one)
	}
	return all, nil
}
