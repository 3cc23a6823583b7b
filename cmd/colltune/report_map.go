package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/report"
	"github.com/colltune/colltune/results/table"
)

// mapOf makes the page of a map over numbers of nodes: who wins where, in each placement.
// t is the joined table.
func mapOf(campaigns []*results.Campaign, t *table.Table) *report.Maps {
	plan := campaigns[0].Plan()
	page := &report.Maps{
		Title: fmt.Sprintf("%s on %s, by size and nodes", plan.Collective, plan.Topology.Name),
		Notes: append([]string{mapPlans(campaigns)}, t.Notes...),
	}
	if t.Campaign.Simulated {
		page.Notes = append(page.Notes, "Times are a simulator's, and were measured nowhere.")
	}
	if !t.Campaign.Finished {
		page.Notes = append(page.Notes, "The search is not finished.")
	}
	if line := t.BaselineLine(); line != "" {
		page.Notes = append(page.Notes, line+".")
	}
	page.Notes = append(page.Notes, "colltune report MAP/nodes-N --out FILE.html writes the page on one number of nodes: routings, refusals, where the time goes.")
	for _, placement := range plan.Placements() {
		m := report.Map{Title: plan.Collective + " in place", Number: "A number is how many times as long the baseline takes, or, where that wins, the fastest program; ≈: the difference may be the simulator's error, or noise, alone."}
		if placement == "out" {
			m.Title = plan.Collective + " out of place"
		}
		for _, c := range campaigns {
			of := c.Plan().Topology
			row := report.MapRow{Label: units.Count(of.Nodes, "node"), Head: []string{"size", "winner", "us", "baseline", "us", "speedup"}}
			best := map[int64]float64{}
			baseline := report.MapLine{Label: "baseline"}
			for i := range t.Rows {
				r := &t.Rows[i]
				if r.Nodes != of.Nodes || r.Placement != placement {
					continue
				}
				row.Cells = append(row.Cells, winnerCell(r))
				row.Table = append(row.Table, winnerLine(r))
				best[r.Bytes] = r.TimeUS
				if r.BaselineTimeUS != nil {
					baseline.Points = append(baseline.Points, report.MapPoint{Bytes: r.Bytes, US: *r.BaselineTimeUS})
				}
			}
			if len(row.Cells) == 0 {
				continue
			}
			for _, curve := range table.Curves(c) {
				if curve.Placement == placement {
					line, alone := familyLine(&curve, best)
					row.Lines, row.Alone = append(row.Lines, line), append(row.Alone, alone)
				}
			}
			slices.SortStableFunc(row.Alone, func(a, b report.MapAlone) int { return b.Sizes - a.Sizes })
			if len(baseline.Points) > 0 {
				row.Lines = append(row.Lines, baseline)
			}
			m.Rows = append(m.Rows, row)
		}
		page.Maps = append(page.Maps, m)
	}
	return page
}

// mapPlans is the command line of a map's campaigns.
func mapPlans(campaigns []*results.Campaign) string {
	var plans []results.Plan
	for _, c := range campaigns {
		plans = append(plans, c.Plan())
	}
	return results.MapCommand(plans)
}

// winnerCell is the cell of a winner: of its family, or of the library where that is faster.
func winnerCell(r *table.Row) report.MapCell {
	cell := report.MapCell{Bytes: r.Bytes, Winner: r.Algorithm, US: r.TimeUS, Note: r.Title()}
	library, us := r.Library()
	if us == 0 {
		return cell
	}
	cell.Second, cell.Ahead = library, us/r.TimeUS
	if r.LeaveToLibrary {
		cell.Winner, cell.US, cell.Second, cell.Ahead = "the library", us, r.Title(), r.TimeUS/us
		cell.Note = library
	}
	cell.Near = r.Near()
	return cell
}

// winnerLine is a winner's line of the table below the map.
func winnerLine(r *table.Row) []string {
	baseline, us, speedup := "", "", ""
	if r.Speedup != nil {
		baseline, us, speedup = *r.Baseline, fixed(*r.BaselineTimeUS), fixed(*r.Speedup)
	}
	return []string{units.Bytes(r.Bytes).String(), r.Title(), fixed(r.TimeUS), baseline, us, speedup}
}

// familyLine is what a family takes at its best knobs, and alone beside the best of all.
func familyLine(c *table.Curve, best map[int64]float64) (report.MapLine, report.MapAlone) {
	line, logs := report.MapLine{Label: c.Algorithm}, 0.0
	for _, p := range c.Points {
		line.Points = append(line.Points, report.MapPoint{Bytes: p.Bytes, US: p.TimeUS})
		logs += math.Log(p.TimeUS / best[p.Bytes])
	}
	n := len(c.Points)
	return line, report.MapAlone{Label: c.Algorithm, Sizes: n, Of: len(best), Ratio: math.Exp(logs / float64(n))}
}
