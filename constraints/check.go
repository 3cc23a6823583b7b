package constraints

import (
	"fmt"
	"strings"
)

// ModelError names the first constraint that an alleged model breaks.
type ModelError struct {
	Formula string
	Row     int    // index of the constraint; -1 if the model's length is wrong
	Detail  string // the constraint, with its value in the model
}

// Error names the formula and the constraint.
func (e *ModelError) Error() string {
	return fmt.Sprintf("formula %s: not a model: %s", e.Formula, e.Detail)
}

// Holds returns the literal's value in a model, which has one for each variable.
func (l Lit) Holds(model []bool) bool {
	switch {
	case l == True:
		return true
	case l == False:
		return false
	case l < 0:
		return !model[l.Variable()]
	}
	return model[l.Variable()]
}

// Check evaluates every constraint as it was stated. model has one value for each
// variable. The error is a *ModelError, or Err's if the formula was misstated.
func (f *Formula) Check(model []bool) error {
	if f.err != nil {
		return f.err
	}
	if len(model) != f.variables {
		return &ModelError{f.Name, -1, fmt.Sprintf("%d values for %d variables", len(model), f.variables)}
	}
	for i, r := range f.rows {
		sum := 0
		for t := r.first; t < r.last; t++ {
			if f.lits[t].Holds(model) {
				sum += int(f.weights[t])
			}
		}
		if !r.is.holds(sum, int(r.bound)) {
			return &ModelError{f.Name, i, fmt.Sprintf("constraint %d asks %s; the sum is %d", i, f.show(r), sum)}
		}
	}
	return nil
}

func (r relation) holds(sum, bound int) bool {
	switch r {
	case atLeast:
		return sum >= bound
	case atMost:
		return sum <= bound
	}
	return sum == bound
}

// show prints a constraint for an error, abbreviating a long one.
func (f *Formula) show(r row) string {
	const most = 12
	var b strings.Builder
	for t := r.first; t < r.last; t++ {
		if t-r.first == most {
			fmt.Fprintf(&b, "… %d more ", r.last-t)
			break
		}
		if w := f.weights[t]; w != 1 {
			fmt.Fprintf(&b, "%+d*", w)
		} else if t > r.first {
			b.WriteString("+ ")
		}
		fmt.Fprintf(&b, "%s ", f.name(f.lits[t]))
	}
	if r.first == r.last {
		b.WriteString("0 ")
	}
	fmt.Fprintf(&b, "%s %d", relationNames[r.is], r.bound)
	return b.String()
}
