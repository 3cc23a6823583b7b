package search

import (
	"context"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Clock simulates calls of a campaign's problem at other sizes than the campaign's: its
// programs, and what the vendor's library would choose (export.Clock).
type Clock struct {
	ctx      context.Context
	problem  Problem
	solver   string
	given    bool // the library's times were measured, and given
	library  library.Options
	memory   int64
	last     *ir.Program // of prepared
	prepared *sim.Prepared
}

// NewClock returns the clock of a campaign; nil where its times are no simulator's. An error is
// FromPlan's. memory is what a call may need, in bytes; 0: no limit. windows says that the programs
// need windows themselves, so that the library's copies into them do not count.
func NewClock(ctx context.Context, c *results.Campaign, memory int64, windows bool) (*Clock, error) {
	p, o, err := FromPlan(c.Plan())
	if ran, _ := c.Executor(); err != nil || !executor.IsModel(ran.Name) {
		return nil, err
	}
	if p, err = p.Defined(&o); err != nil {
		return nil, err
	}
	options := o.libraryOptions(p.Topology)
	options.Alone, options.Windows = false, options.Windows || windows
	return &Clock{ctx: ctx, problem: p, solver: o.Solver, library: options, given: o.Baseline != nil || len(o.Libraries) > 0, memory: memory}, nil
}

// Library returns the simulated times of the library's calls, in microseconds; one without a
// time here is missing, and all are where measured times were given in their place.
func (c *Clock) Library(placement string, sizes []int64) (map[int64]float64, error) {
	if c.given {
		return nil, nil
	}
	t := c.problem.target()
	t.InPlace = placement == program.Placement(true)
	b := program.New(t, program.Options{Solver: c.solver, Simulated: true, Memory: program.Memory(c.memory)})
	defer b.Close()
	return library.New(b, c.library, func(string) {}).LeastUS(c.ctx, sizes)
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
