package libraries

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
)

// Query is a call whose fastest library is asked for. Conditions that are empty are those of
// the table, where it has only one.
type Query struct {
	Collective string
	Ranks      int
	Conditions measured.Conditions
}

// Curves are the times of a query's entries over sizes.
type Curves struct {
	of    []*curve
	sizes []int64         // of all entries, rising
	rows  []*measured.Row // of all entries, in the table's order
}

// curve is the best row of all that have a name, at each of their sizes, rising.
type curve struct {
	name string
	rows []*measured.Row
}

// Time is what an entry takes at a size.
type Time struct {
	measured.Row          // with the size asked for, and the times there
	Interpolated bool     // between the two sizes of Between
	Between      [2]int64 // equal where the size itself was measured
}

// Near reports whether another time is the same within noise, or comes as near as a share.
func (t Time) Near(other Time, within float64) bool { return near(&t.Row, &other.Row, within) }

// Region is an entry over sizes of calls that compete: where it is the fastest (Regions, to the
// byte, and Ranges, of measured sizes), or alone (Singles).
type Region struct {
	First, Last int64
	Best        *measured.Row // of the entry, at First or the next of its sizes
	// Of measured sizes alone.
	Sizes, Of int     // that it has, and that there are
	Near      int     // at which the second is the same within noise
	Ties      string  // entries that tie at every size, with commas between; empty: one wins somewhere
	Ratio     float64 // geometric mean: how many times as long the slower takes; 0: there is no other
	Evidence  string  // measured, simulated, or both where the first and the last differ
	curve     *curve
}

// Curves returns the times of a query. The error says what the table has instead, or which
// of several conditions to choose.
func (t *Table) Curves(q Query) (*Curves, error) {
	rows := map[group][]*measured.Row{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Collective != q.Collective || r.Ranks != q.Ranks || !q.admits(t, r) {
			continue
		}
		g := t.cellOf(r).group
		rows[g] = append(rows[g], r)
	}
	if len(rows) != 1 {
		return nil, q.ambiguous(t, slices.Collect(maps.Keys(rows)))
	}
	var c *Curves
	for _, of := range rows {
		c = curvesOf(of, (*measured.Row).Entry)
	}
	return c, nil
}

func curvesOf(rows []*measured.Row, name func(*measured.Row) string) *Curves {
	c := &Curves{rows: rows}
	for _, r := range rows {
		i, there := slices.BinarySearchFunc(c.of, name(r), func(o *curve, name string) int { return strings.Compare(o.name, name) })
		if !there {
			c.of = slices.Insert(c.of, i, &curve{name: name(r)})
		}
		c.of[i].add(r)
		c.sizes = append(c.sizes, r.Bytes)
	}
	slices.Sort(c.sizes)
	c.sizes = slices.Compact(c.sizes)
	return c
}

// admits reports whether a row has the conditions that are asked for. A dtype asks for its
// width where it need not be equal.
func (q Query) admits(t *Table, r *measured.Row) bool {
	for c, want := range q.Conditions {
		switch {
		case want == "" || r.Conditions[c] == want:
		case measured.Condition(c) == measured.DType && !slices.Contains(t.Equal, measured.DType) && (r.Width() == collective.MeasuredBytes(want) || r.Width() == 0):
		default:
			return false
		}
	}
	return true
}

// ErrNone begins the error of a query that no row of the table answers.
var ErrNone = errors.New("the table has no")

// ambiguous is the error of a query that no group answers, or several.
func (q Query) ambiguous(t *Table, groups []group) error {
	if len(groups) == 0 {
		has := map[string]bool{}
		for i := range t.Rows {
			has[fmt.Sprintf("%s over %d ranks", t.Rows[i].Collective, t.Rows[i].Ranks)] = true
		}
		offers := slices.Sorted(maps.Keys(has))
		const most = 8
		more := ""
		if len(offers) > most {
			more = fmt.Sprintf(", and %d more", len(offers)-most)
			offers = offers[:most]
		}
		return fmt.Errorf("%w %s over %d ranks under these conditions: it has %s%s", ErrNone, q.Collective, q.Ranks, strings.Join(offers, ", "), more)
	}
	var choose []string
	differs := func(name string, of func(group) string) {
		var values []string
		for _, g := range groups {
			if v := cmp.Or(of(g), "not stated"); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > 1 {
			slices.Sort(values)
			choose = append(choose, fmt.Sprintf("%s (%s)", name, strings.Join(values, ", ")))
		}
	}
	for _, c := range t.Equal {
		differs("--"+c.String(), func(g group) string { return g.equal[c] })
	}
	differs("--dtype", func(g group) string {
		if g.width == 0 {
			return ""
		}
		return "of " + units.Count(int(g.width), "byte")
	})
	return fmt.Errorf("the table has several kinds of %s over %d ranks: choose with %s", q.Collective, q.Ranks, strings.Join(choose, ", "))
}

// add puts a row into the place of its size; the faster of two stays.
func (c *curve) add(r *measured.Row) {
	i, there := c.find(r.Bytes)
	switch {
	case !there:
		c.rows = slices.Insert(c.rows, i, r)
	case compareSpeed(r, c.rows[i]) < 0:
		c.rows[i] = r
	}
}

func (c *curve) find(bytes int64) (i int, there bool) {
	return slices.BinarySearchFunc(c.rows, bytes, func(r *measured.Row, bytes int64) int { return cmp.Compare(r.Bytes, bytes) })
}

// Sizes are the least and the greatest size that some entry has.
func (c *Curves) Sizes() (least, most int64) { return c.sizes[0], c.sizes[len(c.sizes)-1] }

// Stated reports whether the curves' rows state a condition.
func (c *Curves) Stated(k measured.Condition) bool { return c.rows[0].Conditions[k] != "" }

// AtOrAbove is At, and of an entry whose sizes all lie above, the time at its least: what
// moves more bytes bounds what moves fewer.
func (c *Curves) AtOrAbove(bytes int64) (times []Time) {
	for _, one := range c.of {
		if t, ok := one.at(max(bytes, one.rows[0].Bytes)); ok {
			times = append(times, t)
		}
	}
	sortTimes(times)
	return times
}

// At returns the times of the entries at a size, by rising time, those of a library's own
// kernels first; those whose sizes do not
// reach it are left out. Between two sizes the logarithm of a time runs straight in the
// logarithm of the size.
func (c *Curves) At(bytes int64) (times []Time) {
	for _, one := range c.of {
		if t, ok := one.at(bytes); ok {
			times = append(times, t)
		}
	}
	sortTimes(times)
	return times
}

func (c *curve) at(bytes int64) (Time, bool) {
	i, there := c.find(bytes)
	if there {
		return Time{Row: *c.rows[i], Between: [2]int64{bytes, bytes}}, true
	}
	if i == 0 || i == len(c.rows) {
		return Time{}, false
	}
	a, b := c.rows[i-1], c.rows[i]
	share := math.Log(float64(bytes)/float64(a.Bytes)) / math.Log(float64(b.Bytes)/float64(a.Bytes))
	between := func(x, y float64) float64 { return x * math.Pow(y/x, share) }
	t := Time{Row: *a, Interpolated: true, Between: [2]int64{a.Bytes, b.Bytes}}
	t.Bytes, t.TimeUS = bytes, between(a.TimeUS, b.TimeUS)
	t.LowUS, t.HighUS = min(between(a.LowUS, b.LowUS), t.TimeUS), max(between(a.HighUS, b.HighUS), t.TimeUS)
	t.Runs = min(a.Runs, b.Runs)
	for k := range t.Conditions {
		if a.Conditions[k] != b.Conditions[k] {
			t.Conditions[k] = a.Conditions[k] + " to " + b.Conditions[k]
		}
	}
	return t, true
}

// rounding is the share below which two times are the same: what logarithms lose.
const rounding = 1e-12

// fastest is the curve of who is the fastest at a size, of equals the first; nil: none reaches it.
func (c *Curves) fastest(bytes int64) (fastest *curve) {
	var best Time
	for _, one := range c.of {
		t, ok := one.at(bytes)
		if ok && (fastest == nil || compareSpeed(&t.Row, &best.Row) < 0 && (own(&t.Row) != own(&best.Row) || t.TimeUS < best.TimeUS*(1-rounding))) {
			fastest, best = one, t
		}
	}
	return fastest
}

// Regions returns who is the fastest where, from the least size to the greatest. Between
// two neighbouring sizes each time is a straight line, in logarithms, and the sizes at which
// one line is the lowest are an interval: its end is found by halving. Where no entry reaches, a
// region has no Best.
func (c *Curves) Regions() (regions []Region) {
	add := func(first, last int64, one *curve) {
		if n := len(regions); n > 0 && regions[n-1].curve == one {
			regions[n-1].Last = last
			return
		}
		r := Region{First: first, Last: last, curve: one}
		if one != nil {
			i, _ := one.find(first)
			r.Best = one.rows[min(i, len(one.rows)-1)]
		}
		regions = append(regions, r)
	}
	add(c.sizes[0], c.sizes[0], c.fastest(c.sizes[0]))
	for i := range c.sizes[1:] {
		from, to := c.sizes[i]+1, c.sizes[i+1]-1
		for from <= to {
			one := c.fastest(from)
			last, beyond := from, to+1
			for beyond-last > 1 {
				if middle := last + (beyond-last)/2; c.fastest(middle) == one {
					last = middle
				} else {
					beyond = middle
				}
			}
			add(from, last, one)
			from = last + 1
		}
		add(to+1, to+1, c.fastest(to+1))
	}
	return regions
}

// RegionOf returns the region of a size that lies within the sizes.
func (c *Curves) RegionOf(bytes int64) Region {
	regions := c.Regions()
	i, _ := slices.BinarySearchFunc(regions, bytes, func(r Region, bytes int64) int { return cmp.Compare(r.Last, bytes) })
	return regions[i]
}

// Regions returns who is the fastest where, of each group of calls that compete, in the
// table's order.
func (t *Table) Regions() (all []Region) {
	for rest := t.Choices(0); len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].SameCalls(&rest[0]) {
			n++
		}
		var rows []*measured.Row
		for i := range rest[:n] {
			rows = append(rows, rest[i].rows...)
		}
		for _, r := range curvesOf(rows, (*measured.Row).Entry).Regions() {
			if r.Best != nil { // else between sizes that do not meet
				all = append(all, r)
			}
		}
		rest = rest[n:]
	}
	return all
}

// String is the region's sizes as people read them.
func (r Region) String() string {
	return fmt.Sprintf("%s to %s bytes", units.Bytes(r.First), units.Bytes(r.Last))
}
