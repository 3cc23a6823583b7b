package accuracy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/intervals"
)

// Verdict is a compared row against the interval of its zone.
type Verdict struct {
	Compared
	Own    intervals.Zone  // the row's
	Zone   intervals.Entry // that counts for it; the zero value: none
	Wider  bool            // that is not the row's own zone, but a wider one
	Inside bool
}

// Supported reports whether a zone counts for the row.
func (v *Verdict) Supported() bool { return v.Zone.Sets > 0 }

// Residuals returns the residuals of compared rows.
func Residuals(all []Compared) []Residual {
	out := make([]Residual, len(all))
	for i, c := range all {
		ran, kind := intervals.Program, c.Family
		if kind == "" {
			ran = intervals.Library
			kind, _, _ = strings.Cut(c.Name, " ")
		}
		out[i] = Residual{Set: c.Set, Kind: kind, Log: math.Log(c.TimeUS / c.SimulatedUS), Zones: c.System.Zones(ran, c.Collective, c.Bytes)}
	}
	return out
}

// Judge holds each row to the interval that a table has for it.
func Judge(all []Compared, table *intervals.Table) []Verdict {
	return judge(all, func(string) *intervals.Table { return table })
}

// LeaveOut leaves out one data set at a time, and holds its rows to what the others say.
func LeaveOut(all []Compared) []Verdict {
	return leaveOut(all, func(set string) string { return set })
}

// LeaveOutMachines is LeaveOut of all data sets of a machine at a time: those that m calls
// the same.
func LeaveOutMachines(m *Manifest, all []Compared) []Verdict {
	return leaveOut(all, func(set string) string { return m.Set(set).Machine })
}

// leaveOut leaves out the data sets that have one key at a time.
func leaveOut(all []Compared, key func(set string) string) []Verdict {
	residuals := Residuals(all)
	tables := map[string]*intervals.Table{}
	return judge(all, func(set string) *intervals.Table {
		of := key(set)
		if tables[of] == nil {
			tables[of] = EstimateWithout(residuals, func(s string) bool { return key(s) == of })
		}
		return tables[of]
	})
}

// judge holds each row to the table of its data set.
func judge(all []Compared, of func(set string) *intervals.Table) []Verdict {
	out := make([]Verdict, len(all))
	for i, r := range Residuals(all) {
		out[i].Compared = all[i]
		t := of(r.Set)
		if len(r.Zones) == 0 {
			continue
		}
		if out[i].Own = r.Zones[0]; !t.Measured(out[i].Own, r.Kind) {
			continue
		}
		if e, wider, ok := t.At(r.Zones); ok {
			out[i].Zone, out[i].Wider, out[i].Inside = e, wider > 0, e.Holds(math.Exp(r.Log))
		}
	}
	return out
}

// Unheld lists the zones with intervals of their own, and the sizes in them, whose rows a
// table does not hold as it should those that it was estimated from: at least 85 % of 20 or
// more.
func Unheld(all []Compared, table *intervals.Table) (lines []string) {
	type part struct {
		zone  intervals.Zone
		bytes int64 // 0: all
	}
	var own []Verdict
	for _, v := range Judge(all, table) {
		if v.Supported() && !v.Wider {
			own = append(own, v)
		}
	}
	parts := CountBy(own, func(v *Verdict) part { return part{v.Own, 0} })
	maps.Copy(parts, CountBy(own, func(v *Verdict) part { return part{v.Own, v.Bytes} }))
	for p, c := range parts {
		if c.Rows < 20 || c.Share() >= 0.85 {
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
	MedianError                      float64 // of |measured ÷ simulated - 1|
	errors                           []float64
}

// Share returns the share of the supported rows that lie inside.
func (c *Count) Share() float64 { return float64(c.Inside) / float64(max(c.Rows-c.Unsupported, 1)) }

// few reports whether there are rows enough, and fewer inside than there should be.
func (c *Count) few() bool { return c.Rows-c.Unsupported >= 20 && c.Share() < 0.75 }

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
		c.Rows++
		c.errors = append(c.errors, math.Abs(v.TimeUS/v.SimulatedUS-1))
		switch {
		case !v.Supported():
			c.Unsupported++
		case v.Inside:
			c.Inside++
		}
		if v.Wider {
			c.Wider++
		}
	}
	for _, c := range counts {
		slices.Sort(c.errors)
		c.MedianError = Percentile(c.errors, 0.5)
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
		band := intervals.Speedup(l.SimulatedUS/v.SimulatedUS, l.Zone.Interval, v.Zone.Interval)
		if measured := l.TimeUS / v.TimeUS; band[0] <= measured && measured <= band[1] {
			inside++
		}
	}
	return inside, pairs
}
