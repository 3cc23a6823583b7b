package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
)

// caption says what the table is of and what is gained, and under --wide what its columns are.
func (t *Table) caption(l Look) []string {
	if len(t.Rows) == 0 {
		return []string{"nothing measured yet"}
	}
	r := &t.Rows[0]
	how := "measured"
	if t.Campaign.Simulated {
		how = "simulated"
	}
	nodes, ranks := units.Count(r.Nodes, "node"), units.Count(r.Ranks, "rank")
	if last := &t.Rows[len(t.Rows)-1]; t.severalNodes() {
		nodes, ranks = fmt.Sprintf("%d to %s", r.Nodes, units.Count(last.Nodes, "node")), fmt.Sprintf("%d to %s", r.Ranks, units.Count(last.Ranks, "rank"))
	}
	lines := []string{fmt.Sprintf("%s on %s, %s, %s, %s by %s", r.Collective, r.Topology, nodes, ranks, how, r.Executor)}
	if !l.Wide {
		return slices.Concat(lines, t.Sentences(), t.brief)
	}
	lines = append(lines, t.Sentences()...)
	if line := t.BaselineLine(); line != "" {
		lines = append(lines, line)
	}
	lines = append(lines, t.Notes...)
	col, err := collective.OfName(collective.Spec{Name: r.Collective, Ranks: r.Ranks, Chunks: 1})
	switch {
	case t.Campaign.SharedGPUs != nil:
		lines = append(lines, "size in bytes, time in us (median), algbw in GB/s")
	case err == nil && t.severalNodes():
		lines = append(lines, "size in bytes, time in us (median), algbw and busbw in GB/s")
	case err == nil:
		lines = append(lines, fmt.Sprintf("size in bytes, time in us (median), algbw and busbw in GB/s; busbw = algbw x %.5g", col.BusFactor()))
	}
	return lines
}

// footer says how to read the default table; under --wide it sums up the candidates and the trials.
func (t *Table) footer(l Look) []string {
	lines := t.SettingLines()
	if !t.Campaign.Finished {
		lines = append(lines, "the search is not finished")
	}
	if !l.Wide {
		if l.Columns == nil && len(t.Rows) > 0 {
			lines = append(lines, t.legend())
		}
		return lines
	}
	c := t.Candidates
	refused := 0
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(c.Refused)) {
		refused += c.Refused[reason]
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, c.Refused[reason]))
	}
	line := fmt.Sprintf("candidates: %d enumerated, %d refused", c.Enumerated, refused)
	if len(reasons) > 0 {
		line += " (" + strings.Join(reasons, ", ") + ")"
	}
	line += fmt.Sprintf(", %d bounded out, %d tuned", c.BoundedOut, c.Tuned)
	if c.Untried > 0 {
		line += fmt.Sprintf(", %d not tried", c.Untried)
	}
	if open := c.Enumerated - refused - c.BoundedOut - c.Tuned - c.Untried; open > 0 {
		line += fmt.Sprintf(", %d not settled yet", open)
	}
	line += fmt.Sprintf("; trials: %d, of which %d failed", t.Campaign.Trials, t.Campaign.Failed)
	return append(lines, line)
}

// legend says what the default table's columns are.
func (t *Table) legend() string {
	line := "time: first-last of the sizes, median"
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Compared().Speedup != nil }) {
		line = "speedup: library ÷ program"
		if t.model != nil || slices.ContainsFunc(t.Rows, func(r Row) bool { return r.model != nil }) {
			line += "; 90 %: its interval; ( ): no evidence"
		}
	}
	return line + "; --wide: all columns, each size"
}
