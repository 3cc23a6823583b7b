package bounds

import "math"

// mixing is a linear program whose columns are found while it is solved (Dantzig
// and Wolfe). Each source has trees, of which any mix carries what it sends; a
// mix loads links, and the time is what the fullest link takes. Which mixes make
// the time least?
//
//	             trees of source 0 │ of source 1 │ time │ room left │
//	link 0           2     1       │     0       │ -1   │ 1         │ = 0
//	link 1           0     1       │     3       │ -1   │     1     │ = 0
//	source 0         1     1       │             │      │           │ = 1
//	source 1                       │     1       │      │           │ = 1
//
// A tree's entries are the times that links take for it. At every step the prices
// of links, which come to 1 together, say what a moment on each is worth; a tree
// that is cheaper by them than the mix of its source makes the time less. Where
// there is none, the time is the least, and the prices prove it.
//
// It is the simplex method on the inverse of the columns in hand: as many as
// there are links and sources, however many trees there are.
type mixing struct {
	links   int
	inverse [][]float64
	amount  []float64 // by row: of its basic column
	hand    []column  // by row: its basic column
	time    int       // the row in which the time is basic
}

// column is a tree, the time, or the room left on a link.
type column struct {
	source int       // of a tree; otherwise negative
	link   int       // the link that has room; negative for the time
	load   []int64   // of a tree: the parts it puts on each link
	takes  []float64 // the same as times
}

// zero is the magnitude up to which a number counts as 0.
const zero = 1e-10

// newMixing begins with one tree of each source.
func newMixing(links int, trees []column) *mixing {
	rows := links + len(trees)
	m := &mixing{links: links, amount: make([]float64, rows), hand: make([]column, rows)}
	m.inverse = identity(rows)
	for e := range links {
		m.hand[e] = column{source: -1, link: e}
	}
	for i, tree := range trees {
		m.amount[links+i] = 1
		m.pivot(links+i, m.through(tree), tree)
	}
	fullest := 0
	for e := range links {
		if m.amount[e] < m.amount[fullest] {
			fullest = e
		}
	}
	time := column{source: -1, link: -1}
	m.pivot(fullest, m.through(time), time)
	return m
}

func identity(rows int) [][]float64 {
	cells := make([]float64, rows*rows)
	unit := make([][]float64, rows)
	for r := range unit {
		unit[r] = cells[r*rows : (r+1)*rows]
		unit[r][r] = 1
	}
	return unit
}

// through expresses a column in terms of the basic columns.
func (m *mixing) through(c column) []float64 {
	u := make([]float64, len(m.hand))
	for r, row := range m.inverse {
		switch {
		case c.source >= 0:
			sum := row[m.links+c.source]
			for e, t := range c.takes {
				sum += row[e] * t
			}
			u[r] = sum
		case c.link >= 0:
			u[r] = row[c.link]
		default:
			for _, x := range row[:m.links] {
				u[r] -= x
			}
		}
	}
	return u
}

// price is what a moment on a link is worth, worth what a source's mix costs.
func (m *mixing) price(link int) float64   { return -m.inverse[m.time][link] }
func (m *mixing) worth(source int) float64 { return m.inverse[m.time][m.links+source] }

// takes is the least time so far.
func (m *mixing) takes() float64 { return m.amount[m.time] }

// dearest is the link whose price is most negative, so that leaving room on it
// helps.
func (m *mixing) dearest() (link int, found bool) {
	least := -zero
	for e := range m.links {
		if p := m.price(e); p < least {
			link, least, found = e, p, true
		}
	}
	return link, found
}

// enter makes a column basic, in place of the one whose amount reaches 0 first. It
// fails if rounding leaves none to replace.
func (m *mixing) enter(c column) bool {
	u := m.through(c)
	leave, least := -1, math.Inf(1)
	for r, x := range u {
		if x < 1e-9 {
			continue
		}
		ratio := max(m.amount[r], 0) / x
		if ratio < least-zero || ratio < least+zero && x > u[leave] {
			leave, least = r, min(least, ratio)
		}
	}
	if leave < 0 || leave == m.time {
		return false
	}
	m.pivot(leave, u, c)
	return true
}

// pivot makes a column basic in a row.
func (m *mixing) pivot(row int, u []float64, c column) {
	by := m.inverse[row]
	scale := 1 / u[row]
	for i := range by {
		by[i] *= scale
	}
	m.amount[row] *= scale
	for r, x := range u {
		if r == row || x == 0 {
			continue
		}
		other := m.inverse[r]
		for i, y := range by {
			other[i] -= x * y
		}
		m.amount[r] -= x * m.amount[row]
	}
	m.hand[row] = c
	if c.source < 0 && c.link < 0 {
		m.time = row
	}
}
