package intervals

import (
	"fmt"
	"math"
	"slices"
)

// Interval is where nine in ten ratios of measured to simulated time lie.
type Interval struct {
	Low, Median, High float64
}

// Holds reports whether a ratio lies inside.
func (i Interval) Holds(ratio float64) bool { return i.Low <= ratio && ratio <= i.High }

// Wider returns the interval a number of times as wide, on either side of the median.
func (i Interval) Wider(times float64) Interval {
	return Interval{i.Median * math.Pow(i.Low/i.Median, times), i.Median, i.Median * math.Pow(i.High/i.Median, times)}
}

// Unmeasured is how many times as wide the interval is of a system whose constants no row was
// measured with. With it 89 to 100 % of ABCI's, Alps' and MI250X's rows lie inside, to which few
// constants were fitted, with their machine left out.
const Unmeasured = 1.5

// Entry is a zone with its interval.
type Entry struct {
	Zone
	Interval
	Machines, Rows int
	Held           float64 // the share of the rows inside, leaving out a row's machine
}

// What makes a zone supported.
const (
	JudgedRows = 20   // the least number of rows by which the share inside is judged
	LeastHeld  = 0.75 // the least share of them inside
)

// mostWide is the largest high ÷ low that says something: 2 from 1 MiB on one node, where latency
// and networks have little part; elsewhere 4, a factor of two either way. The ends of the speedup
// of two such times are a factor of 7 apart, and never more than 16 (where both lean one way).
func (z Zone) mostWide() float64 {
	if z.oneNode() && z.large() {
		return 2
	}
	return 4
}

// Supported reports whether the zone's interval counts.
func (e *Entry) Supported() bool { return e.unsupported() == "" }

// unsupported says why an interval does not count; empty if it does.
func (e *Entry) unsupported() string {
	switch {
	case e.Rows >= JudgedRows && e.Held < LeastHeld:
		return fmt.Sprintf(": of %d rows, the machine of each left out, %.0f %% lie inside", e.Rows, 100*e.Held)
	case e.tooWide(e.Interval):
		return fmt.Sprintf(": measured times are %.2f to %.2f of simulated ones", e.Low, e.High)
	}
	return ""
}

// tooWide reports whether an interval says too little of the zone's times.
func (e *Entry) tooWide(i Interval) bool { return i.High > e.mostWide()*i.Low }

// MostWider is how many times as wide the interval may be and still say something. Below 1 it
// says too little as it is. It leaves room for the digits that Write rounds to.
func (e *Entry) MostWider() float64 {
	return math.Log(e.mostWide()/1.0011) / math.Log(e.High/e.Low)
}

// Table has the zones that rows were measured of, in order.
type Table struct {
	Entries   []Entry
	Constants []string // System.Constants of what was measured, sorted
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

// Measured reports whether times were measured with a system's constants.
func (t *Table) Measured(s System) bool { return slices.Contains(t.Constants, s.Constants) }

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
