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

// What a row's simulated speedup amounts to.
const (
	Surely      = "faster"      // its interval lies above 1
	SurelyNot   = "slower"      // it lies below 1
	Unsure      = "unsure"      // it holds 1: the difference may be the simulator's error alone
	Unsupported = "unsupported" // no measurement says how far it may be off
)

// modelOf returns the model of a simulated campaign. A system that cannot be read again is
// of no kind that was measured.
func modelOf(plan results.Plan) *intervals.Model {
	m := &intervals.Model{Name: plan.Topology.Name, Table: intervals.Shipped()}
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

// addBands fills in the intervals of a simulated row, m being nil where times are measured.
func (r *Row) addBands(m *intervals.Model) {
	r.model = m
	r.TimeBandUS, r.SpeedupBand, r.SpeedupVerdict, r.Unsupported, r.lacks = nil, nil, nil, false, nil
	if m == nil {
		return
	}
	family := r.Algorithm
	if r.Source != "template" {
		family = r.Source + " " + family
	}
	program, lacks := m.Program(family, r.Collective, r.Bytes)
	if lacks == "" {
		band := program.Scale(r.TimeUS)
		r.TimeBandUS = &band
	} else {
		r.lacks = append(r.lacks, lacks)
	}
	if r.Speedup != nil {
		library, lacks := intervals.Exact, ""
		if !r.given {
			algorithm, _, _ := strings.Cut(*r.Baseline, " ") // ring of ring ×24 LL
			library, lacks = m.Library(algorithm, r.Collective, r.Bytes)
		}
		verdict := Unsupported
		if lacks != "" {
			r.lacks = append(r.lacks, lacks)
		} else if r.TimeBandUS != nil {
			band := intervals.Speedup(*r.Speedup, library, program)
			r.SpeedupBand = &band
			switch {
			case band[0] > 1:
				verdict = Surely
			case band[1] < 1:
				verdict = SurelyNot
			default:
				verdict = Unsure
			}
		}
		r.SpeedupVerdict = &verdict
	}
	r.Unsupported = len(r.lacks) > 0
}

// Wins reports whether the row's winner counts as faster than its baseline: where times
// are simulated, beyond the simulator's error; where both are measured, by measurements
// that can be told apart.
func (r *Row) Wins() bool {
	if r.Repeats != nil && r.Repeats.BaselineApart != nil && !*r.Repeats.BaselineApart {
		return false
	}
	if r.SpeedupVerdict != nil {
		return *r.SpeedupVerdict == Surely
	}
	return r.Speedup != nil && *r.Speedup > 1+1e-9
}

// mostLacks limits the zones that a note names.
const mostLacks = 4

// bandNotes lists the notes on how sure simulated speedups are.
func (t *Table) bandNotes() (notes []string) {
	unsure, compared, unsupported := 0, 0, 0
	var lacks []string
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.SpeedupVerdict != nil {
			compared++
			if *r.SpeedupVerdict == Unsure {
				unsure++
			}
		}
		if r.Unsupported {
			unsupported++
		}
		for _, what := range r.lacks {
			if !slices.Contains(lacks, what) {
				lacks = append(lacks, what)
			}
		}
	}
	if unsure > 0 {
		notes = append(notes, fmt.Sprintf("unsure: %d of %s may be the simulator's error alone; their 90 %% intervals hold 1", unsure, units.Count(compared, "speedup")))
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
	return fmt.Sprintf("unsupported: no measurement says how far %d of %s may be off: %s%s", unsupported, units.Count(n, "row"), strings.Join(lacks, "; "), more)
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
