package verify_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/verify"
)

// Check executes a program. Here rank 0 sends the wrong chunk first.
func ExampleCheck() {
	p := irtest.Ring(3, 1, 0, true)
	fmt.Println(verify.Check(p, verify.Options{}).OK())

	p.GPUs[0].Threadblocks[0].Steps[0].Src.Off = 1
	r := verify.Check(p, verify.Options{})
	for _, f := range r.Findings {
		fmt.Println(f)
	}
	// Output:
	// true
	// gpu 0: wrong-result: out[0] ends as the reduction of input chunk 0 without rank 0, with chunks of another index; want the reduction of input chunk 0 of every rank
	// gpu 1: wrong-result: out[0] ends as the reduction of input chunk 0 without rank 0, with chunks of another index; want the reduction of input chunk 0 of every rank
	// gpu 2: wrong-result: out[0] ends as the reduction of input chunk 0 without rank 0, with chunks of another index; want the reduction of input chunk 0 of every rank
}
