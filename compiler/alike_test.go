package compiler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// In an exchange of every rank v with v^1, v^2, … all ranks do the same, and so do their
// threadblocks, merged ones too: executor/sim then simulates one rank for all.
func TestRanksThatDoTheSameHaveTheSameThreadblocks(t *testing.T) {
	const ranks = 8
	b := begin(collective.Spec{Name: "alltoall", Ranks: ranks, Chunks: 1})
	for d := range ranks {
		for v := range ranks {
			b.copy(in(v, v^d), out(v^d, v), 1)
		}
	}
	for _, most := range []int{0, 13, 10, 7} {
		res, err := Compile(&b.p, Options{MaxThreadblocks: most})
		if err != nil {
			t.Fatal(err)
		}
		first := relative(res.Program, 0)
		for v := range ranks {
			if got := relative(res.Program, v); !slices.Equal(got, first) {
				t.Errorf("at most %d threadblocks: rank 0 has\n%q\nrank %d has\n%q", most, first, v, got)
			}
		}
	}
}

// relative is the threadblocks of rank v by v ^ peer, sorted, with their steps.
func relative(p *ir.Program, v int) (all []string) {
	peer := func(w int) int {
		if w < 0 {
			return w
		}
		return v ^ w
	}
	for _, tb := range p.GPUs[v].Threadblocks {
		text := fmt.Sprintf("to %d from %d:", peer(tb.Send), peer(tb.Recv))
		for _, s := range tb.Steps {
			text += fmt.Sprintf(" %v×%d after %d", s.Op, s.Count, len(s.Deps))
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}
