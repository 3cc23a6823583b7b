package pb_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colltune/colltune/constraints/pb"
)

// pigeons are one more than holes: refuted, with much to learn on the way.
func pigeons(holes int) (variables int, rows []pb.Row) {
	at := func(pigeon, hole int) int { return pigeon*holes + hole + 1 }
	for p := range holes + 1 {
		row := pb.Row{Bound: 1}
		for h := range holes {
			row.Lits = append(row.Lits, at(p, h))
		}
		rows = append(rows, row)
	}
	for h := range holes {
		row := pb.Row{Bound: holes} // all but one are elsewhere
		for p := range holes + 1 {
			row.Lits = append(row.Lits, -at(p, h))
		}
		rows = append(rows, row)
	}
	return (holes + 1) * holes, rows
}

// A solve within its limit of work has the result of one without a limit; with a lower
// limit it ends, always after the same work.
func TestWorkEndsASolve(t *testing.T) {
	variables, rows := pigeons(6)
	_, sat, whole, err := pb.SolveWithin(1<<40, variables, clone(rows))
	if err != nil || sat || whole < 1000 {
		t.Fatalf("pigeons: %v after %d, %v", sat, whole, err)
	}
	for work := int64(0); work < whole; work += whole / 7 {
		_, _, done, err := pb.SolveWithin(work, variables, clone(rows))
		_, _, again, _ := pb.SolveWithin(work, variables, clone(rows))
		if !errors.Is(err, pb.ErrWork) && work < whole*9/10 || done != again {
			t.Errorf("within %d of %d: %d, then %d, %v", work, whole, done, again, err)
		}
	}
}

func TestWithinAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 500 {
		rows := randomRows(r, 8)
		model, sat, err := pb.Solve(8, clone(rows))
		counted, satToo, _, errToo := pb.SolveWithin(1<<40, 8, clone(rows))
		if sat != satToo || (err == nil) != (errToo == nil) || !slices.Equal(model, counted) {
			t.Fatalf("%v: %v %v, and with a limit %v %v", rows, model, sat, counted, satToo)
		}
	}
}
