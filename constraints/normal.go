package constraints

// NormalRow is a constraint in the normal form that solvers take: the weights of
// the literals that hold add up to Bound or more. The literals are of distinct
// variables. Weights are positive and at most Bound; nil means that all are 1. A
// row that never holds has no literals and a Bound of 1. A row that always holds
// is left out.
type NormalRow struct {
	Lits    []Lit
	Weights []int
	Bound   int
}

// Normal calls yield with each row of the formula in normal form. The row is only
// valid during the call.
func (f *Formula) Normal(yield func(NormalRow)) {
	n := normalizer{sum: make([]int, f.variables)}
	for _, r := range f.rows {
		if r.is != atMost {
			n.row(f, r, 1, yield)
		}
		if r.is != atLeast {
			n.row(f, r, -1, yield) // Σ ≤ b becomes -Σ ≥ -b
		}
	}
}

// normalizer adds up the weights of each variable in a row.
type normalizer struct {
	sum     []int // by variable; all 0 between rows
	seen    []Lit // the row's variables, in order of appearance
	lits    []Lit
	weights []int
}

func (n *normalizer) row(f *Formula, r row, sign int, yield func(NormalRow)) {
	bound := sign * int(r.bound)
	n.seen, n.lits, n.weights = n.seen[:0], n.lits[:0], n.weights[:0]
	for t := r.first; t < r.last; t++ {
		l, w := f.lits[t], sign*int(f.weights[t])
		if l < 0 { // w(1-x)
			bound -= w
			w, l = -w, -l
		}
		n.seen = append(n.seen, l)
		n.sum[l.Variable()] += w
	}
	total := 0 // of the weights
	for _, l := range n.seen {
		w := n.sum[l.Variable()]
		n.sum[l.Variable()] = 0 // so that a second occurrence adds nothing
		if w == 0 {
			continue
		}
		if w < 0 { // -w(1-x) - |w|
			bound -= w
			w, l = -w, -l
		}
		total += w
		n.lits, n.weights = append(n.lits, l), append(n.weights, w)
	}
	switch {
	case bound <= 0:
		return
	case total < bound:
		yield(NormalRow{Bound: 1})
		return
	}
	unit := true
	for i, w := range n.weights {
		n.weights[i] = min(w, bound)
		unit = unit && n.weights[i] == n.weights[0]
	}
	out := NormalRow{n.lits, n.weights, bound}
	if unit { // k·Σ ≥ b becomes Σ ≥ ⌈b/k⌉
		k := n.weights[0]
		out.Weights, out.Bound = nil, (bound+k-1)/k
	}
	yield(out)
}
