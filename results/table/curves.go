package table

import (
	"cmp"
	"slices"
	"strings"

	"github.com/colltune/colltune/results"
)

// Curve has one algorithm's least time at each size, over all its knobs.
type Curve struct {
	Placement string
	Algorithm string
	Source    string
	Points    []CurvePoint // by rising size; only where it was measured
}

// CurvePoint is an algorithm's least time at a size.
type CurvePoint struct {
	Bytes  int64
	TimeUS float64 // median
	Wins   bool    // it is the row of the winning table
}

// Curves returns the curves of all algorithms but references, by placement as in the
// table, then by name.
func Curves(c *results.Campaign) []Curve {
	type which struct{ placement, algorithm, source string }
	plan := c.Plan()
	all := Measurements(c.Trials())
	at := map[which]int{}
	var curves []Curve
	for _, place := range Cells(plan) {
		first := true
		seen := map[which]bool{}
		for _, m := range all[place] {
			k := which{place.Placement, m.Algorithm, m.Source}
			if m.Reference || seen[k] {
				continue // best first: this is a slower trial of it
			}
			seen[k] = true
			i, known := at[k]
			if !known {
				i = len(curves)
				at[k] = i
				curves = append(curves, Curve{Placement: k.placement, Algorithm: k.algorithm, Source: k.source})
			}
			curves[i].Points = append(curves[i].Points, CurvePoint{place.Bytes, m.TimeUS, first})
			first = false
		}
	}
	order := plan.Placements()
	slices.SortStableFunc(curves, func(a, b Curve) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Placement), slices.Index(order, b.Placement)),
			strings.Compare(a.Algorithm, b.Algorithm), strings.Compare(a.Source, b.Source))
	})
	return curves
}
