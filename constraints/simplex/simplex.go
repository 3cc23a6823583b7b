package simplex

import "math"

// Program is a linear program: maximise the sum of some variables x ≥ 0, subject to
// A·x ≤ b with b ≥ 0. The tableau has the rows, then the reduced costs:
//
//	                 x₀  x₁ │ slack │ b
//	row 0             2   1 │ 1   0 │ 4
//	row 1             1   3 │ 0   1 │ 6
//	reduced costs    -1  -1 │ 0   0 │ 0
//
// At the end the reduced costs of the slack variables are the dual solution.
type Program struct {
	rows, columns int
	tableau       [][]float64 // rows, and the prices
	basis         []int       // the column that each row has in hand
	operations    int
	nonzero       []int // columns where the row that is pivoted on is not 0
}

// New returns a program with all coefficients and bounds 0.
func New(rows, columns int) *Program {
	p := &Program{rows: rows, columns: columns, basis: make([]int, rows)}
	cells := make([]float64, (rows+1)*(columns+rows+1))
	for i := range rows + 1 {
		width := columns + rows + 1
		p.tableau = append(p.tableau, cells[i*width:(i+1)*width])
		if i < rows {
			p.tableau[i][columns+i] = 1
			p.basis[i] = columns + i
		}
	}
	return p
}

// SetCoefficient sets the coefficient of a variable in a row.
func (p *Program) SetCoefficient(row, column int, x float64) { p.tableau[row][column] = x }

// SetBound sets the right-hand side of a row, which must not be negative.
func (p *Program) SetBound(row int, x float64) { p.tableau[row][p.columns+p.rows] = x }

// Maximize adds a variable to the objective, with coefficient 1.
func (p *Program) Maximize(column int) { p.tableau[p.rows][column] = -1 }

// Dual returns the dual value of a row: the change in the objective for each unit
// added to its bound.
func (p *Program) Dual(row int) float64 { return max(0, p.tableau[p.rows][p.columns+row]) }

// Primal returns the value of a variable.
func (p *Program) Primal(column int) float64 {
	for row, c := range p.basis {
		if c == column {
			return p.tableau[row][p.columns+p.rows]
		}
	}
	return 0
}

// Objective returns the value of the objective.
func (p *Program) Objective() float64 { return p.tableau[p.rows][p.columns+p.rows] }

// Operations returns the number of tableau cells that Solve has updated, which is
// the same on every machine.
func (p *Program) Operations() int { return p.operations }

// epsilon is the magnitude up to which a number counts as 0.
const epsilon = 1e-10

// Solve finds an optimal solution. It returns false if the objective reaches
// enough or is unbounded, or if the limit on pivots is met because of rounding or
// degeneracy.
func (p *Program) Solve(enough float64) bool {
	last := p.columns + p.rows
	prices := p.tableau[p.rows]
	stuck := 0
	for range 50 * (p.rows + p.columns) {
		if prices[last] >= enough {
			return false
		}
		// Dantzig's rule; after many degenerate pivots Bland's, which cannot cycle.
		enter, most := -1, -epsilon
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
			x := p.tableau[r][enter]
			if x < 1e-9 {
				continue
			}
			ratio := p.tableau[r][last] / x
			if ratio < least-epsilon || ratio < least+epsilon && p.basis[r] < p.basis[leave] {
				leave, least = r, min(least, ratio)
			}
		}
		if leave < 0 {
			return false
		}
		if stuck++; least > epsilon {
			stuck = 0
		}
		p.pivot(leave, enter)
	}
	return false
}

// pivot makes a column basic in a row.
func (p *Program) pivot(row, column int) {
	pivot := p.tableau[row]
	p.operations += len(p.tableau) * len(pivot)
	scale := 1 / pivot[column]
	p.nonzero = p.nonzero[:0]
	for c := range pivot {
		if pivot[c] *= scale; pivot[c] != 0 {
			p.nonzero = append(p.nonzero, c)
		}
	}
	for r, other := range p.tableau {
		if by := other[column]; r != row && by != 0 {
			for _, c := range p.nonzero {
				other[c] -= by * pivot[c]
			}
			other[column] = 0
		}
	}
	p.basis[row] = column
}
