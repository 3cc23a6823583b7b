package conform

import (
	"testing"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

// The programs of the check pass the verifier.
func TestProgramsOfTheCheckAreRight(t *testing.T) {
	programs := []*ir.Program{exchangeProgram()}
	for n := 2; n < 9; n++ {
		programs = append(programs, ringProgram(n))
	}
	for _, p := range programs {
		if err := verify.Check(p, verify.Options{Slots: 2}).Err(); err != nil {
			t.Errorf("%s over %d ranks: %v", p.Name, p.Ranks(), err)
		}
	}
}
