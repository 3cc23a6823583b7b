package accuracy

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/intervals"
)

// Verdict is a compared row against the interval of its zone.
type Verdict struct {
	Compared
	Own      intervals.Zone     // the row's
	Zone     intervals.Entry    // of the narrowest zone that was measured; the zero value: none
	Interval intervals.Interval // that counts for it; the zero value: none
	Lacks    string             // why none does
	Inside   bool
}

// Supported reports whether an interval counts for the row.
func (v *Verdict) Supported() bool { return v.Lacks == "" }

// Wider reports whether the interval is not that of the row's own zone, but of a wider one.
func (v *Verdict) Wider() bool { return v.Supported() && v.Zone.Zone != v.Own }

// Judge holds each row to the interval that a table has for it.
func Judge(all []Compared, table *intervals.Table) []Verdict {
	return judge(all, func(string) *intervals.Table { return table })
}

// judge holds each row to the table of its machine.
func judge(all []Compared, of func(machine string) *intervals.Table) []Verdict {
	tables := map[string]*intervals.Table{}
	out := make([]Verdict, len(all))
	for i := range all {
		c := &all[i]
		if tables[c.Machine] == nil {
			tables[c.Machine] = of(c.Machine)
		}
		v := &out[i]
		v.Compared = *c
		if zones := c.System.Zones(c.Call); len(zones) > 0 {
			v.Own = zones[0]
		}
		m := intervals.Model{Name: c.Machine, System: c.System, Table: tables[c.Machine]}
		if v.Zone, v.Interval, v.Lacks = m.Look(c.Call); v.Supported() {
			v.Inside = v.Interval.Holds(c.TimeUS / c.SimulatedUS)
		}
	}
	return out
}

// Shares returns the share of the supported rows that lie inside, and the mean of the machines'.
func Shares(all []Verdict) (rows, machines float64) {
	each := CountBy(all, func(v *Verdict) string { return v.Machine })
	n, sum := 0, 0.
	total := Count{}
	for _, c := range each {
		total.Rows, total.Inside, total.Unsupported = total.Rows+c.Rows, total.Inside+c.Inside, total.Unsupported+c.Unsupported
		if c.Rows > c.Unsupported {
			n, sum = n+1, sum+c.Share()
		}
	}
	return total.Share(), sum / float64(max(n, 1))
}

// Unheld lists the supported zones, and the sizes in them, whose rows a table does not hold as it
// should those that it was estimated from: at least 90 % of 20 or more of a zone, and half of a size.
func Unheld(all []Compared, table *intervals.Table) (lines []string) {
	type part struct {
		zone  intervals.Zone
		bytes int64 // 0: all
	}
	var own []Verdict
	for _, v := range Judge(all, table) {
		if v.Supported() && !v.Wider() {
			own = append(own, v)
		}
	}
	parts := CountBy(own, func(v *Verdict) part { return part{v.Own, 0} })
	maps.Copy(parts, CountBy(own, func(v *Verdict) part { return part{v.Own, v.Bytes} }))
	for p, c := range parts {
		least := 0.9
		if p.bytes > 0 {
			least = 0.5
		}
		if c.Rows < intervals.JudgedRows || c.Share() >= least {
			continue
		}
		at := p.zone.String()
		if p.bytes > 0 {
			at += " at " + units.Bytes(p.bytes).String()
		}
		lines = append(lines, fmt.Sprintf("%s: %.0f %% of %d rows inside", at, 100*c.Share(), c.Rows))
	}
	slices.Sort(lines)
	return lines
}

// Count sums up verdicts.
type Count struct {
	Rows, Inside, Wider, Unsupported int
	errors                           []float64 // |measured ÷ simulated - 1|
}

// Share returns the share of the supported rows that lie inside.
func (c *Count) Share() float64 {
	return float64(c.Inside) / float64(max(c.Rows-c.Unsupported, 1))
}

// MedianError is that of |measured ÷ simulated - 1|.
func (c *Count) MedianError() float64 {
	slices.Sort(c.errors)
	return Percentile(c.errors, 0.5)
}

// few reports whether there are rows enough, and fewer inside than there should be.
func (c *Count) few() bool {
	return c.Rows-c.Unsupported >= intervals.JudgedRows && c.Share() < intervals.LeastHeld
}

// add counts a verdict.
func (c *Count) add(v *Verdict) {
	c.Rows++
	c.errors = append(c.errors, math.Abs(v.TimeUS/v.SimulatedUS-1))
	switch {
	case !v.Supported():
		c.Unsupported++
	case v.Inside:
		c.Inside++
	}
	if v.Wider() {
		c.Wider++
	}
}

// CountBy sums up verdicts by a key.
func CountBy[K comparable](all []Verdict, key func(*Verdict) K) map[K]*Count {
	counts := map[K]*Count{}
	for i := range all {
		v := &all[i]
		c := counts[key(v)]
		if c == nil {
			c = &Count{}
			counts[key(v)] = c
		}
		c.add(v)
	}
	return counts
}

// countZones sums up the verdicts of each zone, wider ones included.
func countZones(verdicts []Verdict) map[intervals.Zone]*Count {
	counts := map[intervals.Zone]*Count{}
	for i := range verdicts {
		for _, z := range verdicts[i].zones() {
			if counts[z] == nil {
				counts[z] = &Count{}
			}
			counts[z].add(&verdicts[i])
		}
	}
	return counts
}

// Speedups counts the pairs of a library's and a program's row of one data set, system,
// collective and size whose measured ratio lies inside the interval of the simulated one.
func Speedups(all []Verdict) (inside, pairs int) {
	type point struct {
		set, collective string
		nodes, gpus     int
		bytes           int64
	}
	library := map[point]*Verdict{}
	at := func(v *Verdict) point { return point{v.Set, v.Collective, v.Nodes, v.GPUs, v.Bytes} }
	for i := range all {
		if v := &all[i]; v.Family == "" && v.Supported() {
			library[at(v)] = v
		}
	}
	for i := range all {
		v := &all[i]
		l := library[at(v)]
		if v.Family == "" || !v.Supported() || l == nil {
			continue
		}
		pairs++
		band := intervals.Speedup(l.SimulatedUS/v.SimulatedUS, l.Interval, v.Interval)
		if measured := l.TimeUS / v.TimeUS; band[0] <= measured && measured <= band[1] {
			inside++
		}
	}
	return inside, pairs
}
