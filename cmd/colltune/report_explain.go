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

// explained limits what is explained: a program's steps, and the events of a simulation that is
// repeated with changes.
type explained struct {
	steps  int
	events int64
}

// A page takes its time. A table comes with a search, which explanations must not make longer.
var (
	onPage  = explained{steps: 1 << 18, events: 1 << 17}
	inTable = explained{steps: 1 << 14, events: 1 << 14}
)

// maxExplainedTime is the time of all explanations. Only a campaign made to be slow meets it.
const maxExplainedTime = time.Minute

// winnersExplained returns what explains the winners of a campaign on the simulator, and a
// function that ends it. It returns nil for other campaigns, and for those of a system that
// this version reads differently. A winner whose time is another one now has no explanation.
// stage, unless it is nil, is told of each range and of their number.
func winnersExplained(ctx context.Context, c *results.Campaign, most explained, ranges int, stage func(what string, done, of int)) (report.Explain, context.CancelFunc) {
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
	n := 0
	return func(row *table.Row, p *ir.Program) *table.Why {
		if stage != nil {
			stage("explaining winners", n, ranges)
		}
		n++
		proto, err := topologies.ParseProto(row.Protocol)
		if err != nil || p.Steps() > most.steps {
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
		why := &table.Why{}
		for _, part := range x.Causes {
			why.Parts = append(why.Parts, table.Part{Cause: causeTexts[part.Cause.String()], Share: part.TimeUS / x.TimeUS})
		}
		if x.Events <= most.events {
			if changes, err := sim.Changes(ctx, t); err == nil && len(changes) > 0 {
				why.Change, why.Gain = changes[0].What, changes[0].Gain
			}
		}
		return why
	}, cancel
}

// whyOf returns what says in a clause why a winner of campaigns takes its time: what run --explain says
// of the program at the row's size.
func whyOf(ctx context.Context, all []*results.Campaign) func(*table.Row) string {
	explains := make([]report.Explain, len(all))
	return func(row *table.Row) string {
		for i, c := range all {
			if c.Plan().Topology.Nodes != row.Nodes || row.IR == "" {
				continue
			}
			if explains[i] == nil {
				explains[i], _ = winnersExplained(ctx, c, inTable, 0, nil)
			}
			p, err := c.Program(row.IR)
			if err != nil || explains[i] == nil {
				return ""
			}
			return explains[i](row, p).Clause()
		}
		return ""
	}
}
