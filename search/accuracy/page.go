package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/results/intervals"
)

// Marks of the generated part of docs/simulator.md.
const (
	PageBegin = "<!-- make accuracy UPDATE=1 writes from here -->\n"
	PageEnd   = "<!-- to here -->\n"
)

// Page prints the tables of errors as Markdown: by zone, by data set, and what is not
// used.
func Page(m *Manifest, compared []Compared) string {
	var b strings.Builder
	table, verdicts := intervals.Estimate(Residuals(compared)), LeaveOut(compared)
	whole := func(all []Verdict) *Count {
		if c := CountBy(all, func(*Verdict) bool { return true })[true]; c != nil {
			return c
		}
		return &Count{}
	}
	all, machines := whole(verdicts), whole(LeaveOutMachines(m, compared))
	inside, pairs := Speedups(verdicts)
	fmt.Fprintf(&b, "%d rows of %d data sets, of which none was fitted to the intervals that judge it: leaving out one data set at a time, %.0f %% of the rows lie inside their 90 %% intervals; %d take the interval of a wider zone, and %d have none. Leaving out one machine at a time, of which some data sets share one, it is %.0f %%. Of %d measured speedups of a program over the library, %.0f %% lie inside.\n\n",
		all.Rows, len(CountBy(verdicts, func(v *Verdict) string { return v.Set })), 100*all.Share(), all.Wider, all.Unsupported, 100*machines.Share(), pairs, 100*float64(inside)/float64(max(pairs, 1)))

	b.WriteString("| ran | system | nodes | collective | size | sets | rows | median | 90 % | inside, left out |\n|---|---|---|---|---|--:|--:|--:|--:|--:|\n")
	judged := CountBy(verdicts, func(v *Verdict) intervals.Zone { return v.Zone.Zone })
	for _, e := range table.Entries {
		network := map[string]string{"none": "1", intervals.Any: "several"}[e.Network]
		if network == "" {
			network = e.Network
		}
		held := "not used"
		if c := judged[e.Zone]; c != nil {
			held = fmt.Sprintf("%.0f %% of %d", 100*c.Share(), c.Rows)
			if c.few() {
				held = "**" + held + "**"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %d | %.2f | %.2f to %.2f | %s |\n", e.Ran, e.System, network, e.Collective, e.Sizes, e.Sets, e.Rows, e.Median, e.Low, e.High, held)
	}

	b.WriteString("\n| data set | topology | rows | median error | inside, left out |\n|---|---|--:|--:|--:|\n")
	bySet := CountBy(verdicts, func(v *Verdict) string { return v.Set })
	for _, s := range m.Sets {
		c := bySet[s.Name]
		if c == nil {
			continue
		}
		topology := s.Topology[strings.LastIndexAny(s.Topology, `/\`)+1:]
		fmt.Fprintf(&b, "| %s: %s | `%s` | %d | %.0f %% | %.0f %% |\n", s.Source, s.Machine, strings.TrimSuffix(topology, ".toml"), c.Rows, 100*c.MedianError, 100*c.Share())
	}
	b.WriteString("\n| not used | because |\n|---|---|\n")
	for _, s := range m.Sets {
		for _, r := range s.Without {
			fmt.Fprintf(&b, "| %s: %s | %s |\n", s.Source, r.text(), r.Why)
		}
	}
	return b.String()
}

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
	byZone := CountBy(verdicts, func(v *Verdict) intervals.Zone { return v.Zone.Zone })
	var lines []string
	for z, c := range byZone {
		name := "no zone"
		if z != (intervals.Zone{}) {
			name = z.String()
		}
		mark := ""
		if c.few() && c.Unsupported == 0 {
			mark = "  below 75 %"
		}
		lines = append(lines, fmt.Sprintf("%-75s %5d rows, median error %5.1f %%, inside %5.1f %%%s", name, c.Rows, 100*c.MedianError, 100*c.Share(), mark))
	}
	slices.Sort(lines)
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	bySet := CountBy(verdicts, func(v *Verdict) string { return v.Set })
	lines = lines[:0]
	for s, c := range bySet {
		lines = append(lines, fmt.Sprintf("%-75s %5d rows, median error %5.1f %%, inside %5.1f %%, %d in wider zones, %d in none", s, c.Rows, 100*c.MedianError, 100*c.Share(), c.Wider, c.Unsupported))
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
	for i := range verdicts {
		if v := &verdicts[i]; !v.Supported() {
			fmt.Fprintf(&b, "no interval: %s\n", v.Row)
		}
	}
	if all := CountBy(verdicts, func(*Verdict) bool { return true })[true]; all != nil {
		inside, pairs := Speedups(verdicts)
		fmt.Fprintf(&b, "%d rows, and %d not used (%.1f %%); inside %.1f %%, %d in wider zones, %d in none; speedups: %d of %d inside\n",
			all.Rows, len(unused), 100*float64(len(unused))/math.Max(float64(all.Rows+len(unused)), 1), 100*all.Share(), all.Wider, all.Unsupported, inside, pairs)
	}
	return b.String()
}
