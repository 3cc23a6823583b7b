package main

import (
	"context"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/report"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
)

// Limits of what a report explains: a program's steps, the events of a simulation that is
// repeated with changes, and the time of all explanations. Only a campaign made to be slow
// meets the last.
const (
	maxExplainedSteps  = 1 << 18
	maxExplainedEvents = 1 << 17
	maxExplainedTime   = time.Minute
)

// winnersExplained returns what explains the winners of a campaign on the simulator, and a
// function that ends it. It returns nil for other campaigns, and for those of a system that
// this version reads differently. A winner whose time is another one now has no explanation.
// stage, unless it is nil, is told of each of so many ranges.
func winnersExplained(ctx context.Context, c *results.Campaign, ranges int, stage func(what string, done, of int)) (report.Explain, context.CancelFunc) {
	none := func() {}
	plan := c.Plan()
	if e, known := c.Executor(); !known || !executor.IsModel(e.Name) || !executor.IsModel(plan.Executor) {
		return nil, none
	}
	problem, _, err := search.FromPlan(plan)
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(ctx, maxExplainedTime)
	explained := 0
	return func(row *table.Row, p *ir.Program) *report.Why {
		if stage != nil {
			stage("explaining winners", explained, ranges)
		}
		explained++
		proto, err := topologies.ParseProto(row.Protocol)
		if err != nil || p.Steps() > maxExplainedSteps {
			return nil
		}
		t := executor.Trial{
			Program: p, Topology: problem.Topology, Bytes: row.Bytes, Protocol: proto, TileBytes: row.TileBytes,
			DType: plan.DType, Op: plan.Op,
		}
		x, err := sim.Explain(ctx, t)
		if err != nil || x.TimeUS != row.TimeUS {
			return nil
		}
		why := &report.Why{}
		for _, part := range x.Causes {
			why.Parts = append(why.Parts, report.Part{Cause: causeTexts[part.Cause.String()], Share: part.TimeUS / x.TimeUS})
		}
		if x.Events <= maxExplainedEvents {
			if changes, err := sim.Changes(ctx, t); err == nil && len(changes) > 0 {
				why.Change, why.Gain = changes[0].What, changes[0].Gain
			}
		}
		return why
	}, cancel
}
