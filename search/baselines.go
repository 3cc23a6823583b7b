package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
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

// point is the baseline as the journal keeps it, with the buffers as called in a state.
func (b *baseline) point(t *topologies.Topology) *results.Baseline {
	if b.given != nil {
		return b.given
	}
	point := &results.Baseline{Name: b.Name, TimeUS: b.US, Program: b.hash, Release: b.release(), Registered: b.Reached.String(),
		Evidence: b.Evidence.String(), Threadblocks: b.CTAs, CopiesUS: b.CopiesUS}
	switch b.From {
	case library.Executor:
		point.Protocol = results.ProtocolAuto
	case library.Program:
		point.Protocol = b.Protocol.String()
		point.TileBytes, point.ExtraUS = cmp.Or(b.Tile, int64(t.Protocols[b.Protocol].Tile)), b.ExtraUS
	case library.Unclocked:
	default: // simulated
		point.Data = results.NoData
	}
	return point
}

// release is the name of the baseline's; empty where an executor does not tell.
func (b *baseline) release() string {
	if b.Release == (library.Release{}) {
		return ""
	}
	return b.Release.String()
}

// besideGiven is what the library is expected to take of a problem in one placement in other states
// than as called, where that is given.
func (o *Options) besideGiven(ctx context.Context, b *program.Builder, p *Problem) (all []baseline, err error) {
	options := o.libraryOptions(p.Topology)
	if options.Given = true; o.Baseline == nil {
		options.Registered = o.ownRegistered()
	}
	if !options.Others {
		return nil, nil
	}
	chosen, err := library.New(b, options, o.Observer.Say).Choose(ctx, p.Sizes)
	for _, t := range chosen.Times {
		all = append(all, baseline{Time: t, inPlace: p.InPlace})
	}
	return all, err
}

// given are the baselines of a problem that the user gives: the fastest of libraries' measured times,
// or else those of a file. They come before what the space has at their size and state.
func (o *Options) given(p *Problem) (all []baseline, err error) {
	if o.Baseline == nil {
		times, err := o.libraryTimes(p)
		for at, some := range times {
			fastest, err := o.fastest(at, some)
			if err != nil {
				return nil, err
			}
			all = append(all, fastest...)
		}
		return all, err
	}
	at, err := o.Baseline.times(p)
	if err != nil {
		return nil, err
	}
	for _, one := range p.placements() {
		reached, err := o.reached(&one)
		if err != nil {
			return nil, err
		}
		for _, bytes := range p.Sizes {
			if point := at(bytes, program.Placement(one.InPlace)); point != nil {
				point.Registered, point.Evidence = reached[bytes].String(), results.EvidenceMeasured
				if version := o.Baseline.version(); version != "" {
					point.Release = library.LibraryOf(p.Topology) + "-" + version
				}
				all = append(all, baseline{Time: library.Time{Bytes: bytes, From: library.File, Registered: o.registered()}, inPlace: one.InPlace, given: point})
			}
		}
	}
	return all, nil
}

// reached is, by size, the state of the buffers that the library takes those of a problem in one placement for.
func (o *Options) reached(p *Problem) (map[int64]nccl.Registered, error) {
	if o.registered() == nccl.None {
		return nil, nil
	}
	b := program.New(p.target(), o.building(nil))
	defer b.Close()
	return library.New(b, o.libraryOptions(p.Topology), o.Observer.Say).Reached(p.Sizes)
}

// fastest are the fastest of libraries' times at a place, by state of the buffers; those of which a
// file says nothing are taken as called.
func (o *Options) fastest(at place, times []results.LibraryTime) (all []baseline, err error) {
	for _, x := range times { // by rising time
		state := o.registered()
		if x.Registered != "" {
			if state, err = nccl.ParseRegistered(x.Registered); err != nil {
				return nil, fmt.Errorf("library %s: %w", x.Entry(), err)
			}
		}
		if slices.ContainsFunc(all, func(b baseline) bool { return b.Registered == state }) {
			continue
		}
		point := &results.Baseline{Name: x.Entry(), Library: x.Library, TimeUS: x.TimeUS, Registered: state.String(), Evidence: results.EvidenceMeasured}
		if x.Version != "" {
			point.Release = x.Library + "-" + x.Version
		}
		all = append(all, baseline{Time: library.Time{Bytes: at.bytes, From: library.Measured, Registered: state}, inPlace: at.placement == program.Placement(true), given: point})
	}
	return all, nil
}

// tallyPoints lists the rows' comparisons in the form that the journal keeps: with what the space has,
// or what is given.
func (s *Space) tallyPoints(p *Problem, o *Options, given []baseline, leastUS func(bytes int64) float64) []results.Point {
	states := map[place]map[nccl.Registered]*baseline{}
	for _, b := range slices.Concat(s.baselines, given) {
		at := place{b.Bytes, program.Placement(b.inPlace)}
		if states[at] == nil {
			states[at] = map[nccl.Registered]*baseline{}
		}
		states[at][b.Registered] = &b
	}
	called := o.registered()
	if o.Baseline == nil && o.chooses(p.Collective) {
		called = o.ownRegistered()
	}
	var points []results.Point
	for _, one := range p.placements() {
		for _, bytes := range p.Sizes {
			at := place{bytes, program.Placement(one.InPlace)}
			point := results.Point{Bytes: bytes, Placement: at.placement}
			for _, state := range nccl.States() {
				switch b := states[at][state]; {
				case b == nil:
				case state == called:
					point.Baseline = b.point(p.Topology)
				default:
					point.Others = append(point.Others, *b.point(p.Topology))
				}
			}
			if point.Baseline != nil && o.Unregistered { // as before baselines told of these
				b := point.Baseline
				b.Release, b.Registered, b.Evidence, b.Threadblocks = "", "", "", 0
			}
			if point.Baseline == nil && o.Baseline != nil {
				point.Others = nil // beside a time of the file's alone
			}
			if leastUS != nil {
				point.BoundUS = leastUS(bytes)
			}
			points = append(points, point)
		}
	}
	return points
}
