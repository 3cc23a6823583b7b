package accuracy

import (
	"fmt"
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
func Page(m *Manifest, compared []Compared) string {
	var b strings.Builder
	table, verdicts := Estimate(Residuals(compared)), LeaveOut(compared)
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

	b.WriteString("| ran | system | nodes | collective | size | sets | rows | median error | 90 % | inside, left out |\n|---|---|---|---|---|--:|--:|--:|--:|--:|\n")
	for _, z := range zonesOf(table, verdicts) {
		network := map[string]string{"none": "1", intervals.Any: "several"}[z.Network]
		if network == "" {
			network = z.Network
		}
		interval := "any system's"
		if z.has {
			interval = fmt.Sprintf("%.2f to %.2f", z.Low, z.High)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", z.Ran, z.System, network, z.Collective, z.Sizes, z.Sets, z.Rows, z.medianError, interval, z.inside())
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

// judgedZone is a zone with its interval, if it has one, and how many rows were inside.
type judgedZone struct {
	intervals.Entry
	has         bool
	medianError string // empty: of rows in other zones
	held        *Count // the zone's own rows; of a wider zone, those that took its interval
}

// zonesOf returns the zones of rows, and those that the table has, in order.
func zonesOf(table *intervals.Table, verdicts []Verdict) []judgedZone {
	type setOf struct {
		zone intervals.Zone
		set  string
	}
	own := CountBy(verdicts, func(v *Verdict) intervals.Zone { return v.Own })
	took := CountBy(verdicts, func(v *Verdict) intervals.Zone { return v.Zone.Zone })
	zones := map[intervals.Zone]*judgedZone{}
	for _, e := range table.Entries {
		zones[e.Zone] = &judgedZone{Entry: e, has: true, held: took[e.Zone]}
	}
	for zone, c := range own {
		if zones[zone] == nil {
			zones[zone] = &judgedZone{Entry: intervals.Entry{Zone: zone}}
		}
		z := zones[zone]
		z.Rows, z.held, z.Sets = c.Rows, c, 0
		z.medianError = fmt.Sprintf("%.0f %%", 100*c.MedianError)
	}
	for key := range CountBy(verdicts, func(v *Verdict) setOf { return setOf{v.Own, v.Set} }) {
		zones[key.zone].Sets++
	}
	var all []judgedZone
	for _, z := range zones {
		all = append(all, *z)
	}
	slices.SortFunc(all, func(a, b judgedZone) int { return intervals.CompareZones(a.Zone, b.Zone) })
	return all
}

// inside tells how many of the rows that have an interval lie inside, in bold where there
// are enough and fewer do than should.
func (z *judgedZone) inside() string {
	switch {
	case z.held == nil || z.held.Rows == z.held.Unsupported:
		return "none has one"
	case z.held.few():
		return fmt.Sprintf("**%.0f %% of %d**", 100*z.held.Share(), z.held.Rows-z.held.Unsupported)
	}
	return fmt.Sprintf("%.0f %% of %d", 100*z.held.Share(), z.held.Rows-z.held.Unsupported)
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
	var lines []string
	for zone, c := range CountBy(verdicts, func(v *Verdict) intervals.Zone { return v.Own }) {
		mark := ""
		if c.few() {
			mark = "  below 75 %"
		}
		lines = append(lines, fmt.Sprintf("%-75s %5d rows, median error %5.1f %%, inside %5.1f %% of %d, %d by a wider zone's%s", zone, c.Rows, 100*c.MedianError, 100*c.Share(), c.Rows-c.Unsupported, c.Wider, mark))
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
