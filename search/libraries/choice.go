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

func (t *Table) cellOf(r *measured.Row) cell {
	return cell{group{r.Collective, r.Ranks, r.Width(), t.Held(r)}, r.Bytes}
}

// Held are the conditions of a row that must be equal for another to compete.
func (t *Table) Held(r *measured.Row) (equal measured.Conditions) {
	for _, c := range t.Equal {
		equal[c] = r.Conditions[c]
	}
	return equal
}

// SameCalls reports whether two rows differ in nothing that must be equal but the size.
func (t *Table) SameCalls(a, b *measured.Row) bool { return t.cellOf(a).group == t.cellOf(b).group }

// Choice is the fastest library at a call.
type Choice struct {
	Best   measured.Row
	Second *measured.Row // the fastest of another entry; nil: there is none
	// Near reports whether the second's interval reaches the best's, or comes as near as was
	// asked for: the two are the same within noise.
	Near bool
	// Ties are the entries that are the best within noise, the best first; one alone wins.
	Ties []string
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
		for _, r := range all {
			if r == all[0] || own(r) == own(all[0]) && near(all[0], r, within) {
				c.Ties = append(c.Ties, r.Entry())
			}
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

// keeps reports whether an entry is the fastest, or the same within noise.
func (c *Choice) keeps(entry string) bool {
	return slices.ContainsFunc(c.rows, func(r *measured.Row) bool {
		return r.Entry() == entry && (r == c.rows[0] || own(r) == own(&c.Best) && near(&c.Best, r, 0))
	})
}

// Ranges joins neighbouring choices of one entry, as MCR-DL's Table II does. Where the entry
// before is the same as the fastest within noise, its range goes on. Ratio is the second's time
// over the best's.
func Ranges(choices []Choice) (ranges []Region) {
	var logs float64
	var ties []string       // of the last range, at every size
	seconds, group := 0, -1 // group: the first of its choices
	for i := range choices {
		c := &choices[i]
		n := len(ranges) - 1
		if n < 0 || !choices[group].SameCalls(c) || !c.keeps(ranges[n].Best.Entry()) {
			ranges = append(ranges, Region{First: c.Best.Bytes, Best: &c.Best, Evidence: c.Best.Conditions[measured.Evidence]})
			n++
			logs, seconds, group = 0, 0, i
		}
		r := &ranges[n]
		if r.Sizes == 0 {
			ties = slices.Clone(c.Ties)
		}
		ties = slices.DeleteFunc(ties, func(entry string) bool { return !slices.Contains(c.Ties, entry) })
		if r.Ties = ""; len(ties) > 1 {
			r.Ties = strings.Join(ties, ", ")
		}
		r.Last = c.Best.Bytes
		r.Sizes++
		if c.Second != nil {
			logs += math.Log(c.Second.TimeUS / c.Best.TimeUS)
			seconds++
			r.Ratio = math.Exp(logs / float64(seconds))
		}
		if c.Near {
			r.Near++
		}
		if r.Evidence = r.Best.Conditions[measured.Evidence]; c.Best.Conditions[measured.Evidence] != r.Evidence {
			r.Evidence = "both"
		}
	}
	return ranges
}

// Singles returns what each entry takes alone, by group of calls, those with the most sizes and
// the smallest ratio first. Best is its row at its least size, and Ratio its time over the best's.
func Singles(choices []Choice) (singles []Region) {
	for len(choices) > 0 {
		n := 1
		for n < len(choices) && choices[n].SameCalls(&choices[0]) {
			n++
		}
		var of []Region
		at, logs := map[string]int{}, []float64{}
		for _, c := range choices[:n] {
			for _, r := range c.rows {
				k, known := at[r.Entry()]
				if !known {
					k = len(of)
					at[r.Entry()] = k
					of, logs = append(of, Region{First: r.Bytes, Best: r, Of: n}), append(logs, 0)
				}
				of[k].Last = r.Bytes
				of[k].Sizes++
				logs[k] += math.Log(r.TimeUS / c.Best.TimeUS)
				of[k].Ratio = math.Exp(logs[k] / float64(of[k].Sizes))
			}
		}
		slices.SortFunc(of, func(a, b Region) int {
			return cmp.Or(cmp.Compare(b.Sizes, a.Sizes), cmp.Compare(a.Ratio, b.Ratio), strings.Compare(a.Best.Library+" "+a.Best.Version, b.Best.Library+" "+b.Best.Version))
		})
		singles = append(singles, of...)
		choices = choices[n:]
	}
	return singles
}
