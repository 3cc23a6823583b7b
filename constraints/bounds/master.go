package bounds

import "math"

// master is the master program of the column generation (Dantzig and Wolfe 1960). Each
// source has trees, whose shares add up to 1 and which load links. It minimises the time
// of the most loaded link:
//
//	             trees of source 0 │ of source 1 │ time │ slack     │
//	link 0           2     1       │     0       │ -1   │ 1         │ = 0
//	link 1           0     1       │     3       │ -1   │     1     │ = 0
//	source 0         1     1       │             │      │           │ = 1
//	source 1                       │     1       │      │           │ = 1
//
// A tree's entries are the times that links need for it. The dual values of the links
// add up to 1. A tree that costs less, by these, than the dual value of its source
// reduces the time. If there is none, the time is minimal, and the dual values prove it.
//
// It is the revised simplex method: it keeps the inverse of the basis, which has a row
// for each link and source, however many trees there are.
type master struct {
	links   int
	inverse [][]float64
	amount  []float64 // by row: of its basic column
	basis   []column  // by row: its basic column
	time    int       // the row in which the time is basic
}

// column is a tree, the time, or the slack of a link.
type column struct {
	source int       // of a tree; otherwise negative
	link   int       // the link whose slack it is; negative for the time
	load   []int64   // of a tree: the parts it puts on each link
	times  []float64 // the same as times
}

// epsilon is the magnitude up to which a number counts as 0.
const epsilon = 1e-10

// newMaster begins with one tree of each source.
func newMaster(links int, trees []column) *master {
	rows := links + len(trees)
	m := &master{links: links, amount: make([]float64, rows), basis: make([]column, rows)}
	m.inverse = identity(rows)
	for e := range links {
		m.basis[e] = column{source: -1, link: e}
	}
	for i, tree := range trees {
		m.amount[links+i] = 1
		m.pivot(links+i, m.coordinates(tree), tree)
	}
	fullest := 0
	for e := range links {
		if m.amount[e] < m.amount[fullest] {
			fullest = e
		}
	}
	time := column{source: -1, link: -1}
	m.pivot(fullest, m.coordinates(time), time)
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

// coordinates expresses a column in terms of the basis.
func (m *master) coordinates(c column) []float64 {
	u := make([]float64, len(m.basis))
	for r, row := range m.inverse {
		switch {
		case c.source >= 0:
			sum := row[m.links+c.source]
			for e, t := range c.times {
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

// linkDual and sourceDual return the dual values of a link's row and of a source's row.
func (m *master) linkDual(link int) float64     { return -m.inverse[m.time][link] }
func (m *master) sourceDual(source int) float64 { return m.inverse[m.time][m.links+source] }

// objective returns the time of the present solution.
func (m *master) objective() float64 { return m.amount[m.time] }

// mostNegative returns the link with the most negative dual value, whose slack should
// enter the basis.
func (m *master) mostNegative() (link int, found bool) {
	least := -epsilon
	for e := range m.links {
		if p := m.linkDual(e); p < least {
			link, least, found = e, p, true
		}
	}
	return link, found
}

// enter makes a column basic, in place of the one whose amount reaches 0 first. It
// returns false if rounding leaves no column to replace.
func (m *master) enter(c column) bool {
	u := m.coordinates(c)
	leave, least := -1, math.Inf(1)
	for r, x := range u {
		if x < 1e-9 {
			continue
		}
		ratio := max(m.amount[r], 0) / x
		if ratio < least-epsilon || ratio < least+epsilon && x > u[leave] {
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
func (m *master) pivot(row int, u []float64, c column) {
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
	m.basis[row] = c
	if c.source < 0 && c.link < 0 {
		m.time = row
	}
}
