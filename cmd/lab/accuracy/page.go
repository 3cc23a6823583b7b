package accuracy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/results/intervals"
)

// Marks of the generated part of docs/reference/simulator-errors.md.
const (
	PageBegin = "<!-- make accuracy UPDATE=1 writes from here -->\n"
	PageEnd   = "<!-- to here -->\n"
)

// Page prints the tables of errors as Markdown: by zone, by data set, and what is not
// used.
func Page(m *Manifest, s *Study) string {
	var b strings.Builder
	table, verdicts := s.Table(), s.LeaveOut()
	rows, machines := Shares(verdicts)
	unsupported := 0
	for _, v := range verdicts {
		if !v.Supported() {
			unsupported++
		}
	}
	inside, pairs := Speedups(verdicts)
	fmt.Fprintf(&b, "%d rows of %d machines, of which none was fitted to the intervals that judge it: leaving out one machine at a time, %.0f %% of the rows lie inside their 90 %% intervals, %.0f %% in the mean over machines; %d have none. Intervals are %.2f times as wide as the residuals ask, and some zones' wider. Of %d measured speedups of a program over the library, %.0f %% lie inside.\n\n",
		len(verdicts), len(CountBy(verdicts, func(v *Verdict) string { return v.Machine })), 100*rows, 100*machines, unsupported, s.all, pairs, 100*float64(inside)/float64(max(pairs, 1)))

	b.WriteString("| time of | links | nodes | generation | protocol | what | size | machines | rows | median error | 90 % | inside, left out |\n|---|---|---|---|---|---|---|--:|--:|--:|--:|--:|\n")
	counts := countZones(verdicts)
	for _, e := range table.Entries {
		network := map[string]string{"none": "1", intervals.Any: "several"}[e.Network]
		if network == "" {
			network = e.Network
		}
		interval := fmt.Sprintf("%.2f to %.2f", e.Low, e.High)
		if !e.Supported() {
			interval = "unsupported"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d | %d | %.0f %% | %s | %.0f %% |\n",
			e.Clock, e.Link, network, e.Arch, e.Protocol, e.Work, e.Sizes, e.Machines, e.Rows, 100*counts[e.Zone].MedianError(), interval, 100*e.Held)
	}

	b.WriteString("\n| data set | topology | rows | median error | inside, left out |\n|---|---|--:|--:|--:|\n")
	bySet := CountBy(verdicts, func(v *Verdict) string { return v.Set })
	for _, s := range m.Sets {
		c := bySet[s.Name]
		if c == nil {
			continue
		}
		topology := s.Topology[strings.LastIndexAny(s.Topology, `/\`)+1:]
		fmt.Fprintf(&b, "| %s: %s | `%s` | %d | %.0f %% | %.0f %% |\n", s.Source, s.Machine, strings.TrimSuffix(topology, ".toml"), c.Rows, 100*c.MedianError(), 100*c.Share())
	}
	b.WriteString("\n" + limitsText)
	b.WriteString(LimitTables(m, s.rows))
	b.WriteString("\n| not used | because |\n|---|---|\n")
	for _, s := range m.Sets {
		for _, r := range s.Without {
			fmt.Fprintf(&b, "| %s: %s | %s |\n", s.Source, r.text(), r.Why)
		}
	}
	return b.String()
}

const limitsText = "What errors are asked to be small from, and what limits them. Errors are |simulated ÷ measured − 1|. *Rows repeat within* and *machines alike within* are the 95th percentiles of the errors that are left when each call has the time in the middle: of its rows on one machine (in and out of place, types of the same bytes, repetitions), and of the machines that are simulated alike. No model that knows what was called, and on what, has smaller ones.\n"

// text describes the rows that a rule selects.
func (r *Rule) text() string {
	var words []string
	add := func(format, value string) {
		if value != "" {
			words = append(words, fmt.Sprintf(format, value))
		}
	}
	add("`%s`", r.Algo)
	add("%s", r.Proto)
	add("%s", strings.Join(r.Collective, ", "))
	if len(r.Nodes) > 0 {
		add("%s nodes", strings.Trim(fmt.Sprint(r.Nodes), "[]"))
	}
	if len(r.GPUs) > 0 {
		add("%s GPUs", strings.Trim(fmt.Sprint(r.GPUs), "[]"))
	}
	add("from %s", r.From)
	add("below %s", r.Below)
	return strings.Join(words, ", ")
}

// Sheet prints, for people, how well intervals hold rows: a line a zone, and the rows that
// have no interval, and the reasons for unused ones.
func Sheet(verdicts []Verdict, unused []Unused) string {
	var b strings.Builder
	var lines []string
	for zone, c := range CountBy(verdicts, func(v *Verdict) intervals.Zone { return v.Own }) {
		mark := ""
		if c.few() {
			mark = fmt.Sprintf("  below %.0f %%", 100*intervals.LeastHeld)
		}
		lines = append(lines, fmt.Sprintf("%-75s %5d rows, median error %5.1f %%, inside %5.1f %% of %d, %d by a wider zone's%s", zone, c.Rows, 100*c.MedianError(), 100*c.Share(), c.Rows-c.Unsupported, c.Wider, mark))
	}
	slices.Sort(lines)
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	bySet := CountBy(verdicts, func(v *Verdict) string { return v.Set })
	lines = lines[:0]
	for s, c := range bySet {
		lines = append(lines, fmt.Sprintf("%-75s %5d rows, median error %5.1f %%, inside %5.1f %%, %d in wider zones, %d in none", s, c.Rows, 100*c.MedianError(), 100*c.Share(), c.Wider, c.Unsupported))
	}
	slices.Sort(lines)
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	reasons := map[string]int{}
	for _, u := range unused {
		reasons[u.Set+": "+u.Why]++
	}
	lines = lines[:0]
	for why, n := range reasons {
		lines = append(lines, fmt.Sprintf("not used: %d of %s", n, why))
	}
	slices.Sort(lines)
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	rows, machines := Shares(verdicts)
	inside, pairs := Speedups(verdicts)
	none := 0
	lacks := map[string]int{}
	for i := range verdicts {
		if v := &verdicts[i]; !v.Supported() {
			none++
			lacks[v.Lacks]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(lacks)) {
		fmt.Fprintf(&b, "no interval: %d rows, %s\n", lacks[why], why)
	}
	fmt.Fprintf(&b, "%d rows, and %d not used (%.1f %%); inside %.1f %%, %.1f %% in the mean over machines, %d in none; speedups: %d of %d inside\n",
		len(verdicts), len(unused), 100*float64(len(unused))/math.Max(float64(len(verdicts)+len(unused)), 1), 100*rows, 100*machines, none, inside, pairs)
	return b.String()
}
