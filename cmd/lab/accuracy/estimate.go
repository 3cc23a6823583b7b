package accuracy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/colltune/colltune/results/intervals"
)

// minSets is how many data sets must have measured a zone for it to have an interval:
// with one left out, three are left to differ.
const minSets = 4

// Residual is one measured row.
type Residual struct {
	Set   string           // the data set
	Log   float64          // ln(measured ÷ simulated)
	Kind  string           // of the program, its family; of the library, its algorithm
	Zones []intervals.Zone // System.Zones
}

// wider is how many times as wide as its residuals ask an interval is, for what the next
// data set adds: each end moves out by the same. docs/reference/simulator-errors.md says what others hold.
const wider = 1.3

// Estimate returns the table of residuals, to be shipped.
func Estimate(all []Residual) *intervals.Table {
	return EstimateWithout(all, func(string) bool { return false })
}

// EstimateWithout returns the table without the residuals of some data sets, to judge those
// by. They count for which zones there are, but not for their intervals, nor for what was
// measured; a zone that no other data set measured has none.
func EstimateWithout(all []Residual, without func(set string) bool) *intervals.Table {
	zones := map[intervals.Zone]map[string][]float64{} // residuals by set
	t := &intervals.Table{Kinds: map[string][]string{}}
	for _, r := range all {
		if len(r.Zones) > 0 && !without(r.Set) && !t.Measured(r.Zones[0], r.Kind) {
			place := r.Zones[0].Place()
			t.Kinds[place] = append(t.Kinds[place], r.Kind)
		}
		for _, z := range r.Zones {
			if zones[z] == nil {
				zones[z] = map[string][]float64{}
			}
			zones[z][r.Set] = append(zones[z][r.Set], r.Log)
		}
	}
	for _, kinds := range t.Kinds {
		slices.Sort(kinds)
	}
	for z, sets := range zones {
		if len(sets) < minSets {
			continue
		}
		maps.DeleteFunc(sets, func(set string, _ []float64) bool { return without(set) })
		if len(sets) == 0 {
			continue
		}
		rows := 0
		for _, logs := range sets {
			rows += len(logs)
		}
		t.Entries = append(t.Entries, intervals.Entry{Zone: z, Interval: intervalOf(sets), Sets: len(sets), Rows: rows})
	}
	slices.SortFunc(t.Entries, func(a, b intervals.Entry) int { return intervals.CompareZones(a.Zone, b.Zone) })
	return t
}

// intervalOf returns the interval of residuals by data set.
func intervalOf(sets map[string][]float64) intervals.Interval {
	low, median, high := spread(sets)
	out := (wider - 1) / 2 * (high - low)
	return intervals.Interval{Low: math.Exp(low - out), Median: math.Exp(median), High: math.Exp(high + out)}
}

// spread returns the 5th, 50th and 95th percentile of residuals, in which each data set
// has the same weight: the next machine is one more set, not one more row.
func spread(sets map[string][]float64) (low, median, high float64) {
	type weighed struct{ log, weight float64 }
	var all []weighed
	for _, logs := range sets {
		for _, l := range logs {
			all = append(all, weighed{l, 1 / float64(len(logs)*len(sets))})
		}
	}
	// Equal residuals by weight as well, so that sums have one order.
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.weight, b.weight)) })
	at := func(p float64) float64 {
		// A residual stands at the middle of its weight; between two it is interpolated.
		sum := 0.0
		for i, w := range all {
			middle := sum + w.weight/2
			if middle >= p {
				if i == 0 {
					return w.log
				}
				before := all[i-1]
				share := (p - (sum - before.weight/2)) / (middle - (sum - before.weight/2))
				return before.log + share*(w.log-before.log)
			}
			sum += w.weight
		}
		return all[len(all)-1].log
	}
	return at(0.05), at(0.5), at(0.95)
}

// Percentile returns the value below which the share p of sorted values lies,
// interpolated. It needs at least one value.
func Percentile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[next]-sorted[i])
}
