package simplex

import "math"

// Program is a linear program: find x ≥ 0 that makes its gain largest while
// every row's sum stays within the row's limit, which is not negative. It is
// solved by the simplex method on a dense table.
//
//	             x₀  x₁ │ slack │ limit
//	row 0         2   1 │ 1   0 │ 4
//	row 1         1   3 │ 0   1 │ 6
//	price        -1  -1 │ 0   0 │ 0        of a unit more of each column, so far
//
// At the end the prices of slack say what a unit more of each limit is worth.
type Program struct {
	rows, columns int
	table         [][]float64 // rows, and the prices
	basis         []int       // the column that each row has in hand
	sums          int
	filled        []int // columns where the row that is pivoted on is not 0
}

// New is a program of so many rows and columns, all zero.
func New(rows, columns int) *Program {
	p := &Program{rows: rows, columns: columns, basis: make([]int, rows)}
	cells := make([]float64, (rows+1)*(columns+rows+1))
	for i := range rows + 1 {
		width := columns + rows + 1
		p.table = append(p.table, cells[i*width:(i+1)*width])
		if i < rows {
			p.table[i][columns+i] = 1
			p.basis[i] = columns + i
		}
	}
	return p
}

// Set gives a row its weight of a column.
func (p *Program) Set(row, column int, x float64) { p.table[row][column] = x }

// Limit gives a row its limit.
func (p *Program) Limit(row int, x float64) { p.table[row][p.columns+p.rows] = x }

// Gain makes a unit of a column a unit of gain.
func (p *Program) Gain(column int) { p.table[p.rows][column] = -1 }

// Price is what a unit more of a row's limit would gain.
func (p *Program) Price(row int) float64 { return max(0, p.table[p.rows][p.columns+row]) }

// Amount is how much of a column there is.
func (p *Program) Amount(column int) float64 {
	for row, c := range p.basis {
		if c == column {
			return p.table[row][p.columns+p.rows]
		}
	}
	return 0
}

// Value is the gain reached.
func (p *Program) Value() float64 { return p.table[p.rows][p.columns+p.rows] }

// Sums is how many numbers Solve has added up: its work, the same everywhere.
func (p *Program) Sums() int { return p.sums }

// zero is what rounding makes of 0.
const zero = 1e-10

// Solve returns false where the gain comes to enough or has no limit, or where
// rounding or degeneracy let it get nowhere.
func (p *Program) Solve(enough float64) bool {
	last := p.columns + p.rows
	prices := p.table[p.rows]
	stuck := 0
	for range 50 * (p.rows + p.columns) {
		if prices[last] >= enough {
			return false
		}
		// The column that gains most; after many steps that gained nothing the
		// first that gains, which ends for certain (Bland).
		enter, most := -1, -zero
		for c := range last {
			if prices[c] < most {
				enter, most = c, prices[c]
				if stuck > p.rows {
					break
				}
			}
		}
		if enter < 0 {
			return true
		}
		leave, least := -1, math.Inf(1)
		for r := range p.rows {
			x := p.table[r][enter]
			if x < 1e-9 {
				continue
			}
			ratio := p.table[r][last] / x
			if ratio < least-zero || ratio < least+zero && p.basis[r] < p.basis[leave] {
				leave, least = r, min(least, ratio)
			}
		}
		if leave < 0 {
			return false
		}
		if stuck++; least > zero {
			stuck = 0
		}
		p.pivot(leave, enter)
	}
	return false
}

// pivot brings a column into the basis in the place of a row's.
func (p *Program) pivot(row, column int) {
	pivot := p.table[row]
	p.sums += len(p.table) * len(pivot)
	scale := 1 / pivot[column]
	p.filled = p.filled[:0]
	for c := range pivot {
		if pivot[c] *= scale; pivot[c] != 0 {
			p.filled = append(p.filled, c)
		}
	}
	for r, other := range p.table {
		if by := other[column]; r != row && by != 0 {
			for _, c := range p.filled {
				other[c] -= by * pivot[c]
			}
			other[column] = 0
		}
	}
	p.basis[row] = column
}
