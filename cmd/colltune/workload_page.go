package main

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/report"
	"github.com/colltune/colltune/search/workload"
)

// timelineOf is the page of a step: what each case takes, and the streams of the best single
// case and of the fine mix.
func timelineOf(r *workload.Result) *report.Timeline {
	page := &report.Timeline{
		Title: r.Step.Name,
		Notes: append([]string{fmt.Sprintf("%s on %s, computes of %s us.", units.Count(len(r.Step.Calls), "call"), units.Count(r.Step.Ranks, "rank"), fixed(r.Step.ComputeUS()))}, strings.Split(strings.TrimSpace(summary(r)), "\n")...),
	}
	add := func(name string, c *workload.Case) {
		if c.Modelled > 0 {
			name += ", modelled"
		}
		if c.Lacks == "" {
			page.Totals = append(page.Totals, report.Total{Label: name, RestUS: c.TotalUS - c.ExposedUS, ExposedUS: c.ExposedUS, LowUS: c.LowUS, HighUS: c.HighUS})
		}
	}
	for i := range r.Singles {
		add(r.Singles[i].Name+" alone", &r.Singles[i])
	}
	add("coarse", &r.Coarse)
	add("fine", &r.Fine)
	if r.Best != nil {
		page.Charts = append(page.Charts, lanesOf(r.Best.Name+" alone", r.Best))
	}
	page.Charts = append(page.Charts, lanesOf("Fine: the fastest library for each call", &r.Fine))
	cases, calls := caseSheet([]*workload.Result{r}), callSheet(r)
	page.Tables = []report.TextTable{{Title: "Cases", Columns: cases.header(), Rows: cases.rows}, {Title: "Calls", Columns: calls.header(), Rows: calls.rows}}
	return page
}

// lanesOf is the streams of a case, in the order in which they are first used.
func lanesOf(title string, c *workload.Case) report.Lanes {
	lanes := report.Lanes{Title: title}
	at := map[string]int{}
	for _, x := range c.Schedule() {
		name := strings.TrimSpace(x.Program + " " + x.Stream)
		i, known := at[name]
		if !known {
			i = len(lanes.Lanes)
			at[name] = i
			lanes.Lanes = append(lanes.Lanes, report.Lane{Name: name})
		}
		span := report.Span{Label: x.Name, BeginUS: x.BeginUS, EndUS: x.EndUS, Critical: x.Critical}
		if x.Time != nil {
			span.Kind = x.Time.Entry()
			span.Label += " by " + span.Kind
		}
		lanes.Lanes[i].Spans = append(lanes.Lanes[i].Spans, span)
	}
	return lanes
}
