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
// At the end the reduced costs of the slack variables are the dual solution. Variables
// have numbers: those of New from 0, then the slack of each row, then those of Enter,
// which have no column of the tableau.
type Program struct {
	rows, columns int
	entered       int         // variables of Enter
	tableau       [][]float64 // rows, and the reduced costs
	basis         []int       // by row: its basic variable
	degenerate    int         // pivots since the objective last grew
	operations    int
	coordinates   []float64 // of the variable that enters, by row of the tableau
	nonzero       []int     // columns where the row that is pivoted on is not 0
}

// New returns a program with all coefficients and bounds 0.
func New(rows, columns int) *Program {
	p := &Program{rows: rows, columns: columns, basis: make([]int, rows), coordinates: make([]float64, rows+1)}
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
func (p *Program) Primal(variable int) float64 {
	for row, v := range p.basis {
		if v == variable {
			return p.tableau[row][p.columns+p.rows]
		}
	}
	return 0
}

// Objective returns the value of the objective.
func (p *Program) Objective() float64 { return p.tableau[p.rows][p.columns+p.rows] }

// Operations returns the number of tableau cells that have been updated, which is the
// same on every machine.
func (p *Program) Operations() int { return p.operations }

// epsilon is the magnitude up to which a number counts as 0.
const epsilon = 1e-10

// Solve finds an optimal solution. It returns false if the objective reaches
// enough or is unbounded, or if the limit on pivots is met because of rounding or
// degeneracy.
func (p *Program) Solve(enough float64) bool {
	for range 50 * (p.rows + p.columns) {
		if p.Objective() >= enough {
			return false
		}
		column := p.candidate()
		if column < 0 {
			return true
		}
		if !p.enter(column) {
			return false
		}
	}
	return false
}

// Improve makes one pivot of Solve, and reports whether there was one to make.
func (p *Program) Improve() bool {
	column := p.candidate()
	return column >= 0 && p.enter(column)
}

// Entry is a coefficient of a variable.
type Entry struct {
	Row   int
	Value float64
}

// Enter adds a variable that is not part of the objective, makes it basic, and returns
// its number: a step of column generation, for a variable whose entries cost less than
// nothing at the dual values. The variable is forgotten when another takes its place. If
// nothing bounds it, ok is false and the program is as before.
func (p *Program) Enter(entries []Entry) (variable int, ok bool) {
	for r, row := range p.tableau {
		sum := 0.0
		for _, e := range entries {
			sum += row[p.columns+e.Row] * e.Value
		}
		p.coordinates[r] = sum
	}
	variable = p.columns + p.rows + p.entered
	row := p.leaving()
	if row < 0 {
		return 0, false
	}
	p.entered++
	p.pivot(row, variable)
	return variable, true
}

// candidate returns the column with the most negative reduced cost (Dantzig's rule) or,
// after many degenerate pivots, the first with a negative one (Bland's rule, which cannot
// cycle). It returns -1 if there is none.
func (p *Program) candidate() int {
	best, most := -1, -epsilon
	for c, cost := range p.tableau[p.rows][:p.columns+p.rows] {
		if cost < most {
			best, most = c, cost
			if p.degenerate > p.rows {
				break
			}
		}
	}
	return best
}

// enter makes a column of the tableau basic. It returns false if nothing bounds it.
func (p *Program) enter(column int) bool {
	for r, row := range p.tableau {
		p.coordinates[r] = row[column]
	}
	row := p.leaving()
	if row < 0 {
		return false
	}
	p.pivot(row, column)
	for r, other := range p.tableau {
		if r != row {
			other[column] = 0
		}
	}
	return true
}

// leaving returns the row whose basic variable is the first to reach 0 as the variable
// with the coordinates grows, or -1 if none does. Of several it is that with the lowest
// number (Bland's rule) or, in column generation, where the rule would prefer the oldest
// for ever, that with the largest coordinate, which rounding harms least.
func (p *Program) leaving() int {
	leave, least := -1, math.Inf(1)
	for r := range p.rows {
		x := p.coordinates[r]
		if x < 1e-9 {
			continue
		}
		ratio := max(0, p.tableau[r][p.columns+p.rows]) / x
		if ratio > least+epsilon {
			continue
		}
		first := leave < 0 || ratio < least-epsilon
		if p.entered > 0 {
			first = first || x > p.coordinates[leave]
		} else {
			first = first || p.basis[r] < p.basis[leave]
		}
		if first {
			leave, least = r, min(least, ratio)
		}
	}
	if p.degenerate++; least > epsilon {
		p.degenerate = 0
	}
	return leave
}

// pivot makes the variable with the coordinates basic in a row.
func (p *Program) pivot(row, variable int) {
	pivot := p.tableau[row]
	p.operations += len(p.tableau) * len(pivot)
	scale := 1 / p.coordinates[row]
	p.nonzero = p.nonzero[:0]
	for c := range pivot {
		if pivot[c] *= scale; pivot[c] != 0 {
			p.nonzero = append(p.nonzero, c)
		}
	}
	for r, other := range p.tableau {
		if by := p.coordinates[r]; r != row && by != 0 {
			for _, c := range p.nonzero {
				other[c] -= by * pivot[c]
			}
		}
	}
	p.basis[row] = variable
}
