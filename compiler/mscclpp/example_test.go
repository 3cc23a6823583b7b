package mscclpp_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/verify"
)

// A ring's allreduce as an MSCCL++ plan.
// Verify executes it.
func ExampleLower() {
	plan, err := mscclpp.Lower(irtest.Ring(2, 1, 0, true), mscclpp.LowerOptions{Protocol: "Simple", MinBytes: 1 << 20, MaxBytes: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := mscclpp.Verify(plan, verify.Options{})
	fmt.Println("correct:", v.OK(), "accepted:", v.Accepts)
	for _, op := range plan.GPUs[0].Threadblocks[0].Ops {
		fmt.Print(op.Kind.Name, " ")
	}
	fmt.Println()
	// Output:
	// correct: true accepted: true
	// rlxsignal rlxwait nop put nop signal wait nop res nop signal wait
}
