package data_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
)

// A reference fills the ranks' buffers before a call, and counts wrong elements after it.
func ExampleNewReference() {
	c, err := collective.New(collective.Spec{Name: "allgather", Ranks: 2, Chunks: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := data.NewReference(c, 64, data.F32, data.Sum, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	ranks := make([]data.Buffers, 2)
	for rank := range ranks {
		ranks[rank] = data.Buffers{In: make([]byte, 32), Out: make([]byte, 64)}
		r.Init(rank, &ranks[rank])
	}
	fmt.Println("before:", r.Wrong(0, &ranks[0]), "of 16 wrong")
	copy(ranks[0].Out[:32], ranks[0].In)
	fmt.Println("half done:", r.Wrong(0, &ranks[0]))
	copy(ranks[0].Out[32:], ranks[1].In)
	fmt.Println("done:", r.Wrong(0, &ranks[0]))
	// Output:
	// before: 16 of 16 wrong
	// half done: 8
	// done: 0
}
