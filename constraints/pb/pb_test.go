package pb_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colltune/colltune/constraints/pb"
)

func satisfied(model []bool, r pb.Row) bool {
	sum := 0
	for i, l := range r.Lits {
		w := 1
		if r.Weights != nil {
			w = r.Weights[i]
		}
		if l > 0 && model[l-1] || l < 0 && !model[-l-1] {
			sum += w
		}
	}
	return sum >= r.Bound
}

func clone(rows []pb.Row) []pb.Row {
	out := slices.Clone(rows)
	for i := range out {
		out[i].Lits, out[i].Weights = slices.Clone(out[i].Lits), slices.Clone(out[i].Weights)
	}
	return out
}

func randomRows(r *rand.Rand, n int) []pb.Row {
	var rows []pb.Row
	for range 1 + r.IntN(4*n) {
		vars := r.Perm(n)[:1+r.IntN(min(n, 5))]
		row := pb.Row{Bound: 1 + r.IntN(4)}
		for _, v := range vars {
			l := v + 1
			if r.IntN(2) == 0 {
				l = -l
			}
			row.Lits = append(row.Lits, l)
		}
		if r.IntN(2) == 0 {
			for range vars {
				row.Weights = append(row.Weights, 1+r.IntN(row.Bound))
			}
		} else {
			row.Bound = 1 + r.IntN(len(vars))
		}
		rows = append(rows, row)
	}
	return rows
}

func TestAgreesWithBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	sats := 0
	for i := range 3000 {
		n := 1 + r.IntN(9)
		rows := randomRows(r, n)
		want := false
		for m := 0; m < 1<<n && !want; m++ {
			model := make([]bool, n)
			for v := range model {
				model[v] = m>>v&1 == 1
			}
			want = !slices.ContainsFunc(rows, func(row pb.Row) bool { return !satisfied(model, row) })
		}
		model, sat, err := pb.Solve(n, clone(rows))
		if err != nil || sat != want {
			t.Fatalf("problem %d: %v, %v; brute force says %v: %v", i, sat, err, want, rows)
		}
		if !sat {
			continue
		}
		sats++
		if len(model) != n {
			t.Fatalf("problem %d: a model of %d values", i, len(model))
		}
		for _, row := range rows {
			if !satisfied(model, row) {
				t.Fatalf("problem %d: the model %v breaks %v", i, model, row)
			}
		}
		again, _, _ := pb.Solve(n, clone(rows))
		if !slices.Equal(model, again) {
			t.Fatalf("problem %d has another model the second time", i)
		}
	}
	if sats < 300 || sats > 2700 {
		t.Errorf("%d of 3000 satisfiable: too few of one kind for this test", sats)
	}
}

// The rows that gophersat's other entry point answers wrongly.
func TestRowsOfTheUnsoundEntryPoint(t *testing.T) {
	model, sat, err := pb.Solve(4, []pb.Row{
		{Lits: []int{-2, 4, 1, 3}, Bound: 3}, {Lits: []int{-2}, Bound: 1}, {Lits: []int{-1}, Bound: 1},
	})
	if err != nil || !sat || !slices.Equal(model, []bool{false, false, true, true}) {
		t.Errorf("%v, %v, %v", model, sat, err)
	}
}

func TestMalformedRows(t *testing.T) {
	for _, c := range []struct {
		row  pb.Row
		want string
	}{
		{pb.Row{Lits: []int{0}, Bound: 1}, "literal 0"},
		{pb.Row{Lits: []int{4}, Bound: 1}, "literal 4"},
		{pb.Row{Lits: []int{-4}, Bound: 1}, "literal -4"},
		{pb.Row{Lits: []int{1, 2, -1}, Bound: 1}, "variable 1 occurs twice"},
		{pb.Row{Lits: []int{1}, Bound: 0}, "bound 0"},
		{pb.Row{Lits: []int{1}, Weights: []int{1, 2}, Bound: 1}, "2 weights for 1 literals"},
		{pb.Row{Lits: []int{1}, Weights: []int{-1}, Bound: 1}, "weight -1"},
	} {
		if _, _, err := pb.Solve(3, []pb.Row{c.row}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.row, err)
		}
	}
}

func TestUnconstrainedVariables(t *testing.T) {
	model, sat, err := pb.Solve(5, []pb.Row{{Lits: []int{2}, Bound: 1}})
	if err != nil || !sat || !slices.Equal(model, []bool{false, true, false, false, false}) {
		t.Errorf("%v, %v, %v", model, sat, err)
	}
	if model, sat, err := pb.Solve(2, nil); err != nil || !sat || len(model) != 2 {
		t.Errorf("no rows: %v, %v, %v", model, sat, err)
	}
	if _, sat, err := pb.Solve(2, []pb.Row{{Bound: 1}}); err != nil || sat {
		t.Errorf("a row of nothing: %v, %v", sat, err)
	}
}

// Two at a time would race on the solver's package-wide buffer.
func TestOneAtATime(t *testing.T) {
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 50 {
				if _, _, err := pb.Solve(12, randomRows(r, 12)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
