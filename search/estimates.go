package search

import (
	"context"
)

// Estimate is what a number of instances of a routing is expected to take, by its costs
// (cost.go), before it is compiled.
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
	return runAbandonable(ctx, func(say func(func())) (all []Estimate, err error) {
		o := r.options
		o.Observer = o.Observer.through(say)
		placements := r.problem.placements()
		for i := range placements {
			e := &enumeration{problem: &placements[i], options: &o, machine: machineOf(p.Topology), placement: i, of: len(placements)}
			some, err := e.estimates(ctx, r)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	})
}

func (e *enumeration) estimates(ctx context.Context, r *request) (all []Estimate, err error) {
	defer e.close()
	if _, err := e.solver(); err != nil {
		return nil, err
	}
	found, err := e.drafts(ctx, r.asked)
	if err != nil {
		return nil, err
	}
	if err := e.summarizeAll(ctx, found.drafts, true); err != nil {
		return nil, err
	}
	for _, d := range found.drafts {
		if e.unfitting(d) != nil {
			continue
		}
		one := Estimate{Algorithm: d.name, Source: d.source, Parameters: set(d.params), Instances: d.instances, Placement: placementOf(e.problem.InPlace)}
		for _, proto := range e.protocolsOf(d.protocol) {
			c := &e.problem.Topology.Protocols[proto]
			for _, tile := range e.tiles(c) {
				for _, bytes := range e.problem.Sizes {
					us := d.routing.cost.tiled(c, max(float64(tile), 1), bytes, float64(max(d.instances, 1)))
					one.Times = append(one.Times, EstimatedTime{bytes, proto.String(), int64(tile), us})
				}
			}
		}
		all = append(all, one)
	}
	return all, nil
}
