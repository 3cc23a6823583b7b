package constraints_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/topologies"
)

// Of three chunks of 2, 3 and 4 MB, a link with room for 6 MB takes those that add up
// to most, and of equals the first.
func ExampleSolvers_Solve() {
	s, err := constraints.Open(constraints.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	f := constraints.NewFormula("chunks on a link")
	a, b, c := f.Bool("a"), f.Bool("b"), f.Bool("c")
	size := []constraints.Term{{Weight: 2, Lit: a}, {Weight: 3, Lit: b}, {Weight: 4, Lit: c}}
	f.SumAtMost(6, size...)
	f.SumAtLeast(5, size...)
	f.Prefer(b) // of the two solutions, take the one with b
	answer, err := s.Solve(context.Background(), f)
	fmt.Println(answer.Status, answer.Model, err)
	// Output: sat [true true false] <nil>
}

// A ring through the eight GPUs of a DGX-1, over double NVLinks only.
func ExampleRings() {
	t, err := topologies.Resolve("dgx-1", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rings, err := constraints.Rings(context.Background(), nil, t, constraints.RingOptions{Count: 1, NoSolver: true})
	fmt.Println(rings.Orders, rings.By, err)
	fmt.Println(constraints.RingWidth(t, rings.Orders))
	// Output:
	// [[0 1 3 2 6 7 5 4]] packing <nil>
	// 50 GB/s
}

// The error says why there is no ring.
func ExampleNoRingError() {
	t, err := topologies.Resolve("mesh:3x3", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = constraints.Rings(context.Background(), nil, t, constraints.RingOptions{NoSolver: true})
	fmt.Println(err)
	// Output:
	// topology mesh:3x3: no ring: every link joins one of gpu 0, gpu 2, gpu 4, gpu 6 and gpu 8 to one of gpu 1, gpu 3, gpu 5 and gpu 7: a ring takes them in turns, and they are 5 and 4
}

// In TE-CCL's model of two DGX-2, only odd GPUs send to the other node and only even
// ones receive from it. Each relays for its neighbour.
func ExampleNICs() {
	t, err := topologies.Resolve("dgx-2-teccl", topologies.Options{Nodes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	choice, err := constraints.NICs(t)
	fmt.Println("out", choice.Out)
	fmt.Println("in ", choice.In)
	fmt.Println(choice.Width, err)
	// Output:
	// out [1 1 3 3 5 5 7 7 9 9 11 11 13 13 15 15]
	// in  [0 0 2 2 4 4 6 6 8 8 10 10 12 12 14 14]
	// 6.25 GB/s <nil>
}
