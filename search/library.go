package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/search/baseline"
	"github.com/colltune/colltune/topologies"
)

// LibraryCall is what the vendor's library would run at a size, by its own cost
// model.
type LibraryCall struct {
	Bytes    int64
	Name     string // ring ×24 LL
	Protocol topologies.Proto
	Tile     int64 // its chunk; 0: the protocol's own
	Program  *ir.Program
	StandIn  bool // the library runs what no program here does, as NVLS, and otherwise this
	// ClockUS is the library's time by a closed form or a steady state, in microseconds,
	// where it runs what no program here does, or one larger than is compiled: then Program
	// is nil. 0 elsewhere.
	ClockUS float64
	ExtraUS float64 // what the library's call takes beyond Program's simulated time, in microseconds
	LeastUS float64 // what it takes at least
}

// TimeUS is the library's time, given the simulated time of Program.
func (c LibraryCall) TimeUS(simulatedUS float64) float64 {
	if c.ClockUS > 0 {
		return c.ClockUS
	}
	return max(simulatedUS+c.ExtraUS, c.LeastUS)
}

// LibraryCalls returns the verified programs of the choices of the vendor's library, by
// rising size. If the choice at a size has no program here, that size has none, or
// a StandIn or a ClockUS, and o.Notice is told why: that is no error.
func LibraryCalls(ctx context.Context, p Problem, o Options) ([]LibraryCall, error) {
	return ForcedLibraryCalls(ctx, p, o, baseline.Forced{})
}

// ForcedLibraryCalls is LibraryCalls of a library whose choice is narrowed.
func ForcedLibraryCalls(ctx context.Context, p Problem, o Options, f baseline.Forced) ([]LibraryCall, error) {
	p, err := p.Defined(&o)
	if err != nil {
		return nil, err
	}
	if _, _, err := o.check(&p); err != nil {
		return nil, err
	}
	e := &enumeration{problem: &p, options: &o, machine: machineOf(p.Topology), forced: f}
	defer e.close()
	if _, err := e.solver(); err != nil {
		return nil, err
	}
	drafts, clocked, err := e.baseline(ctx)
	if err != nil {
		return nil, err
	}
	var calls []LibraryCall
	for _, d := range drafts {
		if len(d.points) == 0 {
			continue
		}
		made, err := e.compile(ctx, d)
		if err != nil {
			return nil, err
		}
		if made.refusal != nil {
			timed, err := e.steadyInstead(ctx, []*draft{d}, []*built{made})
			if err != nil {
				return nil, err
			}
			if clocked = append(clocked, timed...); len(d.points) == 0 {
				continue
			}
			e.options.Observer.notice("baseline " + d.String() + " has no program here: " + made.refusal.Detail)
			continue
		}
		for _, at := range d.points {
			calls = append(calls, LibraryCall{Bytes: at.bytes, Name: at.name, Protocol: at.protocol, Tile: at.tile, Program: made.program, StandIn: at.standIn, ExtraUS: at.extraUS, LeastUS: at.leastUS})
		}
	}
	for _, b := range clocked {
		calls = append(calls, LibraryCall{Bytes: b.Bytes, Name: b.Name, Protocol: b.Protocol, ClockUS: b.clockUS})
	}
	slices.SortStableFunc(calls, func(a, b LibraryCall) int { return cmp.Compare(a.Bytes, b.Bytes) })
	return calls, nil
}
