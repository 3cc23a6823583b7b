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
		alike(t, b, Options{MaxThreadblocks: most})
	}
}

// In a recursive all-gather every second rank has the second half of what it sends before the
// first. All ranks do the same in several instances, too, merged or not, with a shuffle at the
// end as well.
func TestRanksThatDoTheSameHaveTheSameInstances(t *testing.T) {
	const ranks = 16
	b := begin(collective.Spec{Name: "allgather", Ranks: ranks, Chunks: 1})
	for v := range ranks {
		b.copy(in(v, 0), sc(v, v), 1)
	}
	for have := 1; have < ranks; have *= 2 {
		for v := range ranks {
			b.copy(sc(v, v/have*have), sc(v^have, v/have*have), have)
		}
	}
	for v := range ranks {
		for _, half := range [2]int{v % 2, 1 - v%2} {
			b.shuffle(sc(v, half), out(v, half*ranks/2), ranks/2, 2, 1)
		}
	}
	for _, n := range []int{1, 2, 4, 8} {
		for _, most := range []int{0, 7 * n, 5 * n, 4 * n} {
			alike(t, b, Options{Instances: n, MaxThreadblocks: most})
		}
	}
}

// alike checks that every rank v of a program does to v ^ peer what rank 0 does to peer.
func alike(t *testing.T, b *builder, o Options) {
	t.Helper()
	res, err := Compile(&b.p, o)
	if err != nil {
		t.Fatal(err)
	}
	first := relative(res.Program, 0)
	for v := range b.p.Collective.Ranks {
		if got := relative(res.Program, v); !slices.Equal(got, first) {
			t.Errorf("%d instances, at most %d threadblocks: rank 0 has\n%q\nrank %d has\n%q", o.Instances, o.MaxThreadblocks, first, v, got)
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
