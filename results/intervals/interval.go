package intervals

import (
	"math"
	"slices"
)

// Interval is where nine in ten ratios of measured to simulated time lie.
type Interval struct {
	Low, Median, High float64
}

// Holds reports whether a ratio lies inside.
func (i Interval) Holds(ratio float64) bool { return i.Low <= ratio && ratio <= i.High }

// Entry is a zone with its interval.
type Entry struct {
	Zone
	Interval
	Sets, Rows int
}

// Table has the zones that measured rows support, in order.
type Table struct {
	Entries []Entry
	Kinds   map[string][]string // that were measured, sorted, by Zone.place
}

// At returns the entry of the narrowest of zones that the table has, and its index among
// them; ok is false if it has none.
func (t *Table) At(zones []Zone) (e Entry, wider int, ok bool) {
	for i, z := range zones {
		if at, found := slices.BinarySearchFunc(t.Entries, z, func(e Entry, z Zone) int { return CompareZones(e.Zone, z) }); found {
			return t.Entries[at], i, true
		}
	}
	return Entry{}, 0, false
}

// Measured reports whether a family or algorithm was measured, on one node or on several
// as the zone is.
func (t *Table) Measured(z Zone, kind string) bool { return slices.Contains(t.Kinds[z.Place()], kind) }

// Scale returns the interval of the time, in microseconds, that would be measured where
// the simulated time is us.
func (i Interval) Scale(us float64) [2]float64 { return [2]float64{i.Low * us, i.High * us} }

// Speedup returns the interval of the library's time ÷ the program's, where that is
// speedup of simulated times. It takes the two errors as independent: their distances
// from the medians add as squares. On one machine they share constants, which would
// cancel in part, so the interval is rather too wide than too narrow.
func Speedup(speedup float64, library, program Interval) [2]float64 {
	far := func(a, b float64) float64 { return math.Hypot(math.Log(a), math.Log(b)) }
	median := speedup * library.Median / program.Median
	down := far(library.Median/library.Low, program.High/program.Median)
	up := far(library.High/library.Median, program.Median/program.Low)
	return [2]float64{median * math.Exp(-down), median * math.Exp(up)}
}

// Exact is the interval of a time that was measured.
var Exact = Interval{1, 1, 1}
