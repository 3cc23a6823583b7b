package collective_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// An allgather over two ranks: each rank contributes one chunk, and every rank
// must end with both.
func ExampleNew() {
	c, err := collective.New(collective.Spec{Name: "allgather", Ranks: 2, Chunks: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.InChunks(0), "chunk in,", c.OutChunks(0), "chunks out")
	for i := range c.OutChunks(0) {
		w := c.Want(0, i)
		fmt.Printf("out[%d] of rank 0 is in[%d] of rank %d\n", i, w.Index, w.Rank)
	}
	// Output:
	// 1 chunk in, 2 chunks out
	// out[0] of rank 0 is in[0] of rank 0
	// out[1] of rank 0 is in[0] of rank 1
}
