package libraries

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/results/table"
)

// Change is one library at one call, in two tables: the fastest of all its versions in each.
type Change struct {
	Before, After *measured.Row // nil: not there
	Verdict       string        // of table.Verdicts
	Ratio         float64       // After's time over Before's; 0 without one of them
}

// Row returns the row of the later table, or else that of the earlier.
func (c *Change) Row() *measured.Row {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Diff compares two tables library by library at each call, in the order of the later one's
// calls. Times that are at most the share tolerance apart, and times whose intervals overlap,
// are the same. Both tables must demand the same conditions to be equal: SameConditions.
func Diff(before, after *Table, tolerance float64) (changes []Change) {
	type place struct {
		cell    cell
		library string
	}
	at := map[place]int{}
	fastest := func(t *Table, of func(*Change) **measured.Row) {
		for i := range t.Rows {
			r := &t.Rows[i]
			k := place{t.cellOf(r), r.Library}
			j, known := at[k]
			if !known {
				j = len(changes)
				at[k] = j
				changes = append(changes, Change{})
			}
			if there := of(&changes[j]); *there == nil || r.TimeUS < (*there).TimeUS {
				*there = r
			}
		}
	}
	fastest(before, func(c *Change) **measured.Row { return &c.Before })
	fastest(after, func(c *Change) **measured.Row { return &c.After })
	for i := range changes {
		changes[i].judge(tolerance)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		x, y := a.Row(), b.Row()
		kx, ky := after.cellOf(x), after.cellOf(y)
		return cmp.Or(kx.compare(&ky), cmp.Compare(x.Library, y.Library))
	})
	return changes
}

// judge sets the verdict and the ratio.
func (c *Change) judge(tolerance float64) {
	if c.Before != nil && c.After != nil {
		c.Ratio = c.After.TimeUS / c.Before.TimeUS
	}
	switch b, a := c.Before, c.After; {
	case a == nil:
		c.Verdict = table.Gone
	case b == nil:
		c.Verdict = table.New
	case near(b, a, 0) && near(a, b, 0) || max(c.Ratio, 1/c.Ratio) <= 1+tolerance:
		c.Verdict = table.Same
	case c.Ratio > 1:
		c.Verdict = table.Slower
	default:
		c.Verdict = table.Faster
	}
}

// SameConditions reports whether two tables demand the same conditions to be equal.
func SameConditions(a, b *Table) bool { return slices.Equal(a.Equal, b.Equal) }

// MeanRatio is the geometric mean of the changes' ratios; 0 without any.
func MeanRatio(changes []Change) float64 {
	logs, n := 0.0, 0
	for _, c := range changes {
		if c.Ratio > 0 {
			logs += math.Log(c.Ratio)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(logs / float64(n))
}
