package compiler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// byRank reports whether a buffer's chunks are counted rank by rank.
func byRank(name string, b collective.Buffer) bool {
	return name == "alltoall" && b != collective.Scratch || name == "allgather" && b == collective.Out
}

// relabelled returns chunk off of a buffer once rank r is called to[r].
func relabelled(s collective.Spec, b collective.Buffer, off int, to []int) int {
	if byRank(s.Name, b) {
		return to[off/s.Chunks]*s.Chunks + off%s.Chunks
	}
	return off
}

// relabel returns the program with other names for its ranks.
func relabel(p *lang.Program, to []int) *lang.Program {
	q := *p
	q.Ops, q.Scratch = slices.Clone(p.Ops), make([]int, len(p.Scratch))
	for r, n := range p.Scratch {
		q.Scratch[to[r]] = n
	}
	for i := range q.Ops {
		for _, s := range [2]*lang.Span{&q.Ops[i].Src, &q.Ops[i].Dst} {
			s.Rank, s.Index = int32(to[s.Rank]), int32(relabelled(p.Collective.Spec, s.Buf, int(s.Index), to))
		}
	}
	return &q
}

// shape returns an IR in words that do not depend on how its ranks were
// numbered, to being what they are called: threadblocks by their connections,
// GPU by GPU.
func shape(p *ir.Program, to []int) []string {
	name := func(r int) int {
		if r < 0 {
			return r
		}
		return to[r]
	}
	place := func(l ir.Loc) string {
		return fmt.Sprint(l.Buf, relabelled(p.Collective, l.Buf, int(l.Off), to))
	}
	gpus := make([]string, len(p.GPUs))
	for g := range p.GPUs {
		key := func(tb int32) string {
			t := &p.GPUs[g].Threadblocks[tb]
			return fmt.Sprintf("ch %d to %d from %d", t.Channel, name(t.Send), name(t.Recv))
		}
		var tbs []string
		for t := range p.GPUs[g].Threadblocks {
			var b strings.Builder
			b.WriteString(key(int32(t)))
			for _, s := range p.GPUs[g].Threadblocks[t].Steps {
				fmt.Fprintf(&b, "\n  %v %d", s.Op, s.Count)
				if s.Op.ReadsSrc() {
					b.WriteString(" " + place(s.Src))
				}
				if s.Op.WritesDst() {
					b.WriteString(" " + place(s.Dst))
				}
				var deps []string
				for _, d := range s.Deps {
					deps = append(deps, fmt.Sprintf("%s step %d", key(d.TB), d.Step))
				}
				slices.Sort(deps)
				fmt.Fprintf(&b, " %q %v", deps, s.HasDep)
			}
			tbs = append(tbs, b.String())
		}
		slices.Sort(tbs)
		gpus[to[g]] = fmt.Sprintf("scratch %d\n%s", p.GPUs[g].Scratch, strings.Join(tbs, "\n"))
	}
	return gpus
}

// TestRelabelledRanks: what ranks are called makes no difference but for the
// names.
func TestRelabelledRanks(t *testing.T) {
	defer func(n int) { maxVisits = n }(maxVisits)
	maxVisits = 1 << 20 // where looking is cut short, where it began does matter
	rapid.Check(t, func(t *rapid.T) {
		p := drawRouting(t)
		n := p.Collective.Ranks
		same, to := make([]int, n), make([]int, n)
		for r := range same {
			same[r] = r
		}
		copy(to, rapid.Permutation(same).Draw(t, "names"))
		o := Options{
			Instances: rapid.IntRange(1, 3).Draw(t, "instances"), MaxChannels: 1000,
			Slots: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "slots"),
		}
		a, err := Compile(p, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Compile(relabel(p, to), o)
		if err != nil {
			t.Fatal(err)
		}
		want, got := shape(a.Program, to), shape(b.Program, same)
		for g := range want {
			if want[g] != got[g] {
				t.Fatalf("with names %v rank %d is\n%s\nwant\n%s", to, g, got[g], want[g])
			}
		}
	})
}
