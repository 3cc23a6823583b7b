package search

import (
	"context"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// Clock simulates calls of a campaign's problem at other sizes than the campaign's: its
// programs, and what the vendor's library would choose (export.Clock).
type Clock struct {
	ctx      context.Context
	problem  Problem
	solver   string
	given    bool // the library's times were measured, and given
	memory   int64
	last     *ir.Program // of prepared
	prepared *sim.Prepared
}

// NewClock returns the clock of a campaign; nil where its times are no simulator's. An error is
// FromPlan's. memory is what a call may need, in bytes; 0: no limit.
func NewClock(ctx context.Context, c *results.Campaign, memory int64) (*Clock, error) {
	p, o, err := FromPlan(c.Plan())
	if executor, _ := c.Executor(); err != nil || executor.Name != simulator {
		return nil, err
	}
	if p, err = p.Defined(&o); err != nil {
		return nil, err
	}
	return &Clock{ctx: ctx, problem: p, solver: o.Solver, given: o.Baseline != nil || len(o.Libraries) > 0, memory: memory}, nil
}

// simulator is the simulator's name as an executor.
const simulator = "sim"

// Library returns the simulated times of the library's calls, in microseconds; one without a
// time here is missing, and all are where measured times were given in their place.
func (c *Clock) Library(placement string, sizes []int64) (map[int64]float64, error) {
	if c.given {
		return nil, nil
	}
	p := c.problem
	p.Sizes, p.InPlace, p.Both = sizes, placement == placementOf(true), false
	calls, err := LibraryCalls(c.ctx, p, Options{Solver: c.solver, Executor: simulator, Memory: c.memory})
	if err != nil {
		return nil, err
	}
	us := map[int64]float64{}
	for _, call := range calls {
		var t float64
		if call.ClockUS == 0 {
			prepared, err := sim.Prepare(call.Program, p.Topology)
			if err != nil {
				return nil, err
			}
			r, err := prepared.RunContext(c.ctx, sim.Knobs{Bytes: call.Bytes, Protocol: call.Protocol, TileBytes: call.Tile, ElemBytes: p.ElemBytes()})
			if err != nil {
				return nil, err
			}
			t = r.TimeUS
		}
		if _, known := us[call.Bytes]; !known {
			us[call.Bytes] = call.TimeUS(t)
		}
	}
	return us, nil
}

// Program returns the simulated time of a program with a trial's knobs at a size, in
// microseconds.
func (c *Clock) Program(p *ir.Program, t *results.Trial, bytes int64) (float64, error) {
	if p != c.last {
		prepared, err := sim.Prepare(p, c.problem.Topology)
		if err != nil {
			return 0, err
		}
		c.prepared, c.last = prepared, p
	}
	proto, err := topologies.ParseProto(t.Protocol)
	if err != nil {
		return 0, err
	}
	r, err := c.prepared.RunContext(c.ctx, sim.Knobs{Bytes: bytes, Protocol: proto, TileBytes: t.TileBytes, ElemBytes: c.problem.ElemBytes()})
	return r.TimeUS, err
}
