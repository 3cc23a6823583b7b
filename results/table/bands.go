package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/topologies"
)

// modelOf returns the model of a simulated campaign. A system that cannot be read again is
// like no machine; a program that cannot is taken for one whose sums and results go one way.
func modelOf(c *results.Campaign) *intervals.Model {
	plan := c.Plan()
	m := &intervals.Model{Name: plan.Topology.Name, Table: intervals.Shipped()}
	known := map[string]bool{}
	m.UpAndDown = func(hash string) bool {
		up, ok := known[hash]
		if !ok && plan.Collective == "allreduce" {
			p, err := c.Program(hash)
			up = err == nil && intervals.UpAndDown(p)
			known[hash] = up
		}
		return up
	}
	// Two nodes have the same network as many, and take less time to lay out, but a file
	// may cable a given number of them.
	for _, nodes := range []int{min(plan.Topology.Nodes, 2), plan.Topology.Nodes} {
		t, err := topologies.FromText(plan.Topology.Name, plan.Topology.Text, topologies.Options{Nodes: nodes})
		if err == nil {
			m.System = intervals.SystemOf(t)
			break
		}
	}
	return m
}

// addBands fills in the intervals and the verdicts of a row, m being nil where times are measured:
// then there are no intervals, and verdicts only where the library was asked of other states of the
// buffers.
func (r *Row) addBands(m *intervals.Model) {
	r.model = m
	r.TimeBandUS, r.SpeedupBand, r.SpeedupVerdict, r.SpeedupVerdictBest, r.Unsupported, r.lacks = nil, nil, nil, nil, false, nil
	if m == nil {
		if r.best != nil && r.best != r.called {
			r.SpeedupVerdict, r.SpeedupVerdictBest = r.judgeMeasured(r.called), r.judgeMeasured(r.best)
		}
		return
	}
	program, lacks := m.Program(intervals.Call{Protocol: r.Protocol, Collective: r.Collective, Bytes: r.Bytes,
		UpAndDown: m.UpAndDown != nil && m.UpAndDown(r.program)})
	if r.isSetting() {
		program, lacks = r.settingInterval(m)
	}
	if lacks == "" {
		band := program.Scale(r.TimeUS)
		r.TimeBandUS = &band
	} else {
		r.lacks = append(r.lacks, lacks)
	}
	var called, best *[2]float64
	r.SpeedupVerdict, called = r.judge(r.called, m, program, lacks)
	r.SpeedupVerdictBest, best = r.judge(r.best, m, program, lacks)
	if r.SpeedupBand = best; r.baseline() == r.called {
		r.SpeedupBand = called
	}
	if r.AsCalled != nil {
		r.AsCalled.SpeedupBand = called
	}
	r.Unsupported = len(r.lacks) > 0
}

// mostLacks limits the zones that a note names.
const mostLacks = 4

// bandNotes lists the notes on simulated times that nothing measured supports.
func (t *Table) bandNotes() (notes []string) {
	unsupported := 0
	var lacks []string
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Unsupported {
			unsupported++
		}
		for _, what := range r.lacks {
			if !slices.Contains(lacks, what) {
				lacks = append(lacks, what)
			}
		}
	}
	if unsupported > 0 {
		notes = append(notes, UnsupportedNote(unsupported, len(t.Rows), lacks))
	}
	return notes
}

// UnsupportedNote says of how many of n rows nothing measured supports the time, and what
// is lacking.
func UnsupportedNote(unsupported, n int, lacks []string) string {
	more := ""
	if n := len(lacks) - mostLacks; n > 0 {
		lacks, more = lacks[:mostLacks], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("no evidence: no measurement says how far %d of %s may be off: %s%s", unsupported, units.Count(n, "row"), strings.Join(lacks, "; "), more)
}

// bandText prints an interval: 4.60-5.52.
func bandText(b *[2]float64, end int, text func(float64) string) string {
	switch {
	case b == nil:
		return ""
	case end < 0:
		return text(b[0]) + "-" + text(b[1])
	}
	return text(b[end])
}
