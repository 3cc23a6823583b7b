package constraints

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteSMT2 writes the formula as SMT-LIB 2 (logic QF_LIA), for other solvers to
// check. Preferences are left out. The error is Err's or the writer's.
func (f *Formula) WriteSMT2(w io.Writer) error {
	if f.err != nil {
		return f.err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "; %s\n(set-logic QF_LIA)\n", oneLine(f.Name))
	used := map[string]bool{}
	names := make([]string, f.variables)
	for i := range names {
		// A name is used only if it is unique and can be quoted in SMT-LIB.
		name := f.name(Lit(i + 1))
		if used[name] || strings.ContainsAny(name, "|\\\n\r") {
			name = fmt.Sprintf("x%d", i+1)
		}
		for used[name] {
			name += "'"
		}
		used[name] = true
		names[i] = "|" + name + "|"
		fmt.Fprintf(b, "(declare-const %s Bool)\n", names[i])
	}
	literal := func(l Lit) string {
		if l < 0 {
			return "(not " + names[l.Variable()] + ")"
		}
		return names[l.Variable()]
	}
	f.Normal(func(r NormalRow) {
		b.WriteString("(assert ")
		switch {
		case len(r.Lits) == 0:
			b.WriteString("false")
		case r.Weights == nil && r.Bound == 1 && len(r.Lits) == 1:
			b.WriteString(literal(r.Lits[0]))
		case r.Weights == nil && r.Bound == 1:
			b.WriteString("(or")
			for _, l := range r.Lits {
				b.WriteString(" " + literal(l))
			}
			b.WriteString(")")
		default:
			b.WriteString("(>= (+")
			for i, l := range r.Lits {
				weight := 1
				if r.Weights != nil {
					weight = r.Weights[i]
				}
				fmt.Fprintf(b, " (ite %s %d 0)", literal(l), weight)
			}
			fmt.Fprintf(b, " 0) %d)", r.Bound) // the 0 makes sure that the sum has at least two terms
		}
		b.WriteString(")\n")
	})
	b.WriteString("(check-sat)\n(get-model)\n")
	return b.Flush()
}

// WriteOPB writes the formula in the linear format of the pseudo-Boolean
// competitions. Variables are numbered from x1; comments at the top give their
// names. Preferences are left out. The error is Err's or the writer's.
func (f *Formula) WriteOPB(w io.Writer) error {
	if f.err != nil {
		return f.err
	}
	rows := 0
	f.Normal(func(NormalRow) { rows++ })
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "* #variable= %d #constraint= %d\n* %s\n", f.variables, rows, oneLine(f.Name))
	for i, name := range f.names {
		if name != "" {
			fmt.Fprintf(b, "* x%d is %s\n", i+1, oneLine(name))
		}
	}
	f.Normal(func(r NormalRow) {
		bound := r.Bound
		for i, l := range r.Lits {
			weight := 1
			if r.Weights != nil {
				weight = r.Weights[i]
			}
			if l < 0 { // the format has no negation, so write w(1-x)
				bound -= weight
				weight = -weight
			}
			fmt.Fprintf(b, "%+d x%d ", weight, l.Variable()+1)
		}
		fmt.Fprintf(b, ">= %d ;\n", bound)
	})
	return b.Flush()
}

func oneLine(s string) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
}
