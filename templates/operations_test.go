package templates

import (
	"errors"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
)

// What a family says of its operations is what its program has, with all parameters
// and on every sort of system; but for COLLTUNE_LONG=1, of up to 12 ranks.
func TestOperationsAreThoseTraced(t *testing.T) {
	compared, least := map[string]int{}, 6
	if everything() {
		least = 10
	}
	for _, s := range systems {
		for _, nodes := range []int{1, 2, 3} {
			if nodes > s.nodes {
				continue
			}
			top := s.of(t, nodes)
			m := machineOf(top)
			if m.Ranks() > 16 || m.Ranks() > 12 && !everything() {
				continue
			}
			for _, f := range Builtin() {
				for _, coll := range f.Collectives {
					for _, inPlace := range []bool{false, true} {
						compareOperations(t, fmt.Sprintf("%s, %d nodes", s, nodes), f, m, coll, inPlace, compared)
					}
				}
			}
		}
	}
	for _, at := range []string{"ring allreduce", "ring allgather", "ring reducescatter", "ring allgatherv",
		"all-pairs allreduce", "all-pairs allgather", "all-pairs reducescatter", "direct alltoall", "hierarchical allreduce"} {
		if compared[at] < least {
			t.Errorf("%s was compared %d times", at, compared[at])
		}
	}
}

func compareOperations(t *testing.T, on string, f *Family, m script.Machine, coll string, inPlace bool, compared map[string]int) {
	t.Helper()
	q := script.Request{Collective: coll, InPlace: inPlace}
	if _, err := collective.New(collective.Spec{Name: coll, Ranks: m.Ranks(), Chunks: 1, InPlace: inPlace}); err != nil {
		return // no such form
	}
	if n := collective.CountsOf(coll, m.Ranks()); n == m.Ranks() {
		q.Counts = make([]int, n)
		for i := range q.Counts {
			q.Counts[i] = i % 3
		}
	}
	grid, err := f.GridFor(m, q, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, params := range grid {
		said, ok, err := f.Operations(m, q, params)
		if err != nil {
			t.Fatalf("%s: %s %s %v: %v", on, f.Name, coll, params, err)
		}
		if !ok || said > 20_000 {
			continue
		}
		program, err := f.Trace(m, q, params)
		if err != nil {
			t.Fatalf("%s: %s %s %v: %v", on, f.Name, coll, params, err)
		}
		if compared[f.Name+" "+coll]++; said != len(program.Ops) {
			t.Errorf("%s: %s %s %v in place %v: %d operations, said to be %d", on, f.Name, coll, params, inPlace, len(program.Ops), said)
		}
	}
}

// A program that is too large is refused by what its family says, with the figure,
// before any of it is traced.
func TestTooManyOperationsAreForeseen(t *testing.T) {
	f, err := Find(Builtin(), "ring", "allreduce")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ranks, most int
		large       bool // a larger limit would do
	}{{4096, 0, false}, {4096, 1 << 21, false}, {1024, 1 << 20, true}} {
		m := script.Even(1, c.ranks)
		_, err := f.Trace(m, script.Request{Collective: "allreduce", InPlace: true, MaxOps: c.most}, nil)
		var e *lang.Error
		if !errors.As(err, &e) || e.Large != c.large || e.Ops != 2*c.ranks*(c.ranks-1) {
			t.Errorf("%d ranks, at most %d: %v (%+v)", c.ranks, c.most, err, e)
		}
	}
}
