package libraries

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor/measured"
)

// cell is a set of rows that compete, by what they have in common.
type cell struct {
	group
	bytes int64
}

// group is a cell without its size.
type group struct {
	collective string
	ranks      int
	width      int64
	equal      measured.Conditions // of those that must be equal
}

// cellOf returns the cell of a row.
func (t *Table) cellOf(r *measured.Row) cell {
	k := cell{group{collective: r.Collective, ranks: r.Ranks, width: r.Width()}, r.Bytes}
	for _, c := range t.Equal {
		k.equal[c] = r.Conditions[c]
	}
	return k
}

// Choice is the fastest library at a call.
type Choice struct {
	Best   measured.Row
	Second *measured.Row // the fastest of another entry; nil: there is none
	// Near reports whether the second's interval reaches the best's, or comes as near as was
	// asked for: the two are the same within noise.
	Near bool
	rows []*measured.Row // the best of each entry, by rising time
	cell cell
}

// Entries returns the best row of each entry, by rising time.
func (c *Choice) Entries() []*measured.Row { return c.rows }

// SameCalls reports whether two choices differ in nothing but the size.
func (c *Choice) SameCalls(o *Choice) bool { return c.cell.group == o.cell.group }

// Choices returns the fastest library of each cell, in the order of the rows. Of an entry,
// the fastest row counts, whatever its other conditions; the library's name decides ties. Rows
// that are another library's by a known limit (own) are behind all others. A second is within
// noise also where it takes at most the share within longer.
func (t *Table) Choices(within float64) []Choice {
	best := map[cell][]*measured.Row{}
	var cells []cell
	for i := range t.Rows {
		r := &t.Rows[i]
		k := t.cellOf(r)
		all, known := best[k]
		if !known {
			cells = append(cells, k)
		}
		j := slices.IndexFunc(all, func(o *measured.Row) bool { return o.Library == r.Library && o.Version == r.Version })
		switch {
		case j < 0:
			best[k] = append(all, r)
		case compareSpeed(r, all[j]) < 0:
			all[j] = r
		}
	}
	choices := make([]Choice, len(cells))
	for i, k := range cells {
		all := best[k]
		slices.SortFunc(all, func(a, b *measured.Row) int {
			return cmp.Or(compareSpeed(a, b), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Version, b.Version))
		})
		c := Choice{Best: *all[0], rows: all, cell: k}
		if len(all) > 1 {
			c.Second = all[1]
			c.Near = near(all[0], all[1], within)
		}
		choices[i] = c
	}
	slices.SortFunc(choices, func(a, b Choice) int { return a.cell.compare(&b.cell) })
	return choices
}

// compare orders cells by group, then size.
func (a *cell) compare(b *cell) int {
	return cmp.Or(
		cmp.Compare(a.collective, b.collective), cmp.Compare(a.ranks, b.ranks), cmp.Compare(a.width, b.width),
		slices.Compare(a.equal[:], b.equal[:]), cmp.Compare(a.bytes, b.bytes),
	)
}

// Range is neighbouring sizes at which one entry is the fastest, as in MCR-DL's Table II.
type Range struct {
	First, Last *Choice
	Sizes       int
	Near        int     // sizes at which the second is within noise
	Ahead       float64 // geometric mean of the second's time over the best's; 0: no second
}

// keeps reports whether an entry is the fastest, or the same within noise.
func (c *Choice) keeps(entry string) bool {
	return slices.ContainsFunc(c.rows, func(r *measured.Row) bool {
		return r.Entry() == entry && (r == c.rows[0] || own(r) == own(&c.Best) && near(&c.Best, r, 0))
	})
}

// Ranges joins neighbouring choices of one entry. Where the entry before is the same as the
// fastest within noise, its range goes on.
func Ranges(choices []Choice) (ranges []Range) {
	var logs float64
	seconds := 0
	for i := range choices {
		c := &choices[i]
		n := len(ranges) - 1
		if n < 0 || ranges[n].First.cell.group != c.cell.group || !c.keeps(ranges[n].First.Best.Entry()) {
			ranges = append(ranges, Range{First: c})
			n++
			logs, seconds = 0, 0
		}
		r := &ranges[n]
		r.Last = c
		r.Sizes++
		if c.Second != nil {
			logs += math.Log(c.Second.TimeUS / c.Best.TimeUS)
			seconds++
			r.Ahead = math.Exp(logs / float64(seconds))
		}
		if c.Near {
			r.Near++
		}
	}
	return ranges
}

// Single is what one entry takes where the best of all could be used.
type Single struct {
	Collective, Library, Version string
	Ranks                        int
	Conditions                   measured.Conditions // those that must be equal
	Width                        int64
	Sizes, Of                    int     // sizes that it has, of those that there are
	Ratio                        float64 // geometric mean of its time over the best's, over its sizes
}

// Singles returns what each entry takes alone, by group, those with the most sizes and the
// smallest ratio first.
func Singles(choices []Choice) (singles []Single) {
	type sum struct {
		Single
		logs float64
	}
	for len(choices) > 0 {
		n := 1
		for n < len(choices) && choices[n].cell.group == choices[0].cell.group {
			n++
		}
		g := choices[0].cell.group
		byEntry := map[string]*sum{}
		for _, c := range choices[:n] {
			for _, r := range c.rows {
				s := byEntry[r.Entry()]
				if s == nil {
					s = &sum{Single: Single{Collective: g.collective, Ranks: g.ranks, Width: g.width, Conditions: g.equal, Library: r.Library, Version: r.Version, Of: n}}
					byEntry[r.Entry()] = s
				}
				s.Sizes++
				s.logs += math.Log(r.TimeUS / c.Best.TimeUS)
			}
		}
		var of []Single
		for _, s := range byEntry {
			s.Ratio = math.Exp(s.logs / float64(s.Sizes))
			of = append(of, s.Single)
		}
		slices.SortFunc(of, func(a, b Single) int {
			return cmp.Or(cmp.Compare(b.Sizes, a.Sizes), cmp.Compare(a.Ratio, b.Ratio), strings.Compare(a.Library+" "+a.Version, b.Library+" "+b.Version))
		})
		singles = append(singles, of...)
		choices = choices[n:]
	}
	return singles
}

// Entry returns the library and its version.
func (s Single) Entry() string {
	return (&measured.Row{Library: s.Library, Version: s.Version}).Entry()
}

// SameCalls reports whether both are of the same collective, ranks and conditions.
func (s Single) SameCalls(o Single) bool {
	return s.Collective == o.Collective && s.Ranks == o.Ranks && s.Width == o.Width && s.Conditions == o.Conditions
}

// Evidence is measured, simulated, or both where the range's sizes differ in it.
func (r *Range) Evidence() string {
	if a, b := r.First.Best.Conditions[measured.Evidence], r.Last.Best.Conditions[measured.Evidence]; a != b {
		return "both"
	}
	return r.First.Best.Conditions[measured.Evidence]
}
