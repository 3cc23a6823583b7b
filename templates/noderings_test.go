package templates

import (
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// TestSeveralRingsInANode: multi-level divides the data between the rings that a node's
// links make, at two and at three levels.
func TestSeveralRingsInANode(t *testing.T) {
	orders := [][]int{{0, 1, 2, 3}, {0, 2, 1, 3}}
	for _, collective := range []string{"allgather", "reducescatter", "allreduce"} {
		f, err := Find(Builtin(), "multi-level", collective)
		if err != nil {
			t.Fatal(err)
		}
		for _, groups := range []int{1, 2} {
			for _, shuffle := range []bool{true, false} {
				if collective == "allreduce" && !shuffle {
					continue
				}
				params := script.Params{"groups": groups, "cross": "recursive", "top": "recursive", "local": "ring", "shuffle": shuffle, "rings": len(orders), "order": orders}
				program, err := f.Trace(script.Even(4, 4), script.Request{Collective: collective}, params)
				if err != nil {
					t.Fatal(err)
				}
				compiled, err := compiler.Compile(program, compiler.Options{CheckEachPass: true})
				if err != nil {
					t.Fatal(err)
				}
				if err := verify.Check(compiled.Program, verify.Options{Slots: 2}).Err(); err != nil {
					t.Errorf("%s %v: %v", collective, params, err)
				}
				within := map[[2]int]bool{} // links that program uses in a node
				for i := range program.Ops {
					if a, b := int(program.Ops[i].Src.Rank), int(program.Ops[i].Dst.Rank); a != b && a/4 == 0 && b/4 == 0 {
						within[[2]int{a, b}] = true
					}
				}
				if !within[[2]int{0, 1}] && !within[[2]int{1, 0}] || !within[[2]int{0, 2}] && !within[[2]int{2, 0}] {
					t.Errorf("%s %v: links %v: want those of both rings", collective, params, within)
				}
			}
		}
	}
}
