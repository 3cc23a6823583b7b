package compiler_test

import (
	"fmt"
	"os"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// Rank 0's chunk travels over rank 1 to rank 2. The compiler fuses the receive and
// the send of rank 1 into one step, rcs.
func ExampleCompile() {
	c, err := collective.New(collective.Spec{Name: "broadcast", Ranks: 3, Chunks: 1, InPlace: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := lang.NewTrace("line", c)
	ref, _ := t.Chunk(0, collective.In, 0, 1, 1)
	for rank := 1; rank < 3; rank++ {
		ref, _ = ref.Copy(rank, collective.Out, 0, -1)
	}
	p, err := t.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := compiler.Compile(p, compiler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = ir.Print(os.Stdout, res.Program)
	// Output:
	// broadcast over 3 ranks, 1 chunks, in place
	// gpu 0
	//   tb 0 send→1 ch 0
	//     0 s    in[0]
	// gpu 1
	//   tb 0 send→2 recv←0 ch 0
	//     0 rcs  in[0]
	// gpu 2
	//   tb 0 recv←1 ch 0
	//     0 r    in[0]
}
