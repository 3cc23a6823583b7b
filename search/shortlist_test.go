package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
)

// eachOn does something with the placement of a search on a number of nodes of a system.
func eachOn(t testing.TB, p problem, o Options, do func(*placement)) {
	t.Helper()
	of, _ := p.resolve(t)
	r, err := resolve(of, o)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.eachPlacement(nil, nil, func(p *placement) error { do(p); return nil })
}

// draftsOf are those of some families, summed up whole or their messages alone.
func (p *placement) draftsOf(t testing.TB, whole bool, families ...string) (all []*program.Draft) {
	t.Helper()
	for _, name := range families {
		f, err := templates.Find(templates.Builtin(), name, p.problem.Collective)
		if err != nil {
			t.Fatal(err)
		}
		some, err := p.Family(t.Context(), f, program.Never, program.Never)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some.Drafts...)
	}
	if err := p.Summarize(t.Context(), all, whole); err != nil {
		t.Fatal(err)
	}
	return all
}

// The best of every size is taken first; of one routing no more than two numbers of
// instances a size; what there is no room for leaves it to smaller ones.
func TestChoose(t *testing.T) {
	eachOn(t, problem{"fullmesh:8", 1, "allreduce", []int64{1 << 10}}, Options{Executor: "sim"}, func(p *placement) {
		ring, large, small := p.draftsOf(t, true, "ring"), p.draftsOf(t, true, "all-pairs"), p.draftsOf(t, true, "recursive-doubling")
		large = slices.DeleteFunc(large, func(d *program.Draft) bool { return d.Operations() != 4*ring[0].Operations() })
		drafts := []*program.Draft{ring[0], ring[1], ring[2], large[0], small[0]}
		a, c := ring[0].Operations(), small[0].Operations()
		if ring[2].Operations() != 4*a || 2*c > a || 3*c < a {
			t.Fatalf("rings of %d operations, %d of them, and %d of the smallest", a, ring[2].Operations(), c)
		}
		for _, row := range []struct {
			name  string
			times [][]float64
			room  int
			want  []int // in the order in which they are taken
		}{
			{"all", [][]float64{{3, 2, 4, 5, 6}, {1, 2, 3, 4, 5}}, 20 * a, []int{1, 0, 3, 4}},
			{"each size its best", [][]float64{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}}, a + c, []int{0, 4}},
			{"the third where another size wants it", [][]float64{{1, 2, 3, 8, 9}, {3, 2, 1, 8, 9}}, 7 * a, []int{0, 2, 1}},
			{"the large one has no room", [][]float64{{2, 3, 4, 1, 5}}, 3*a + c, []int{0, 1, 4}},
			{"of near equals the smallest", [][]float64{{1, 1, 1.001, 1.001, 1.002}}, 2*a + c, []int{4, 0}},
			{"nothing fits", [][]float64{{1, 2, 3, 4, 5}}, c - 1, nil},
		} {
			if got := choose(drafts, row.times, row.room); !slices.Equal(got, row.want) {
				t.Errorf("%s: %v, want %v", row.name, got, row.want)
			}
		}
	})
}

// Those taken by what their messages alone let one expect, until they are known, are those
// taken where all are known, in the same order.
func TestPromisingIsTheWholeChoice(t *testing.T) {
	families := []string{"ring", "multi-level", "hierarchical", "double-binary-tree", "recursive-halving-doubling"}
	large := problem{"dgx-a100", 4, "allreduce", []int64{64 << 20, 1 << 30}} // at smaller ones messages tell little
	eachOn(t, large, Options{Executor: "sim", Solver: "pb"}, func(p *placement) {
		known := p.draftsOf(t, true, families...)
		for _, part := range []int{4, 16} {
			drafts := p.draftsOf(t, false, families...)
			room := program.OperationsOf(drafts) / part
			want, _, err := p.promising(t.Context(), known, room)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := p.promising(t.Context(), drafts, room)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("1/%d of the operations: %v, took %v, want %v", part, err, got, want)
			}
			unknown := 0
			for _, d := range drafts {
				if !d.Routing.Cost().Whole {
					unknown++
				}
			}
			t.Logf("1/%d of the operations: took %d of %d, of which %d were not summed up whole", part, len(got), len(drafts), unknown)
			if len(got) == 0 || part > 4 && unknown == 0 {
				t.Errorf("1/%d of the operations: took %d of %d, and all were summed up whole", part, len(got), len(drafts))
			}
		}
	})
}

// What all drafts come to decides whether they are chosen from; what is left out is refused by
// name, and so is what surely has no room on a GPU.
func TestShortlist(t *testing.T) {
	sizes := []int64{1 << 10, 1 << 20, 1 << 30}
	for _, o := range []Options{{Executor: "sim"}, {Executor: "sim", Families: []string{"ring", "all-pairs"}}} {
		eachOn(t, problem{"dgx-a100", 1, "allreduce", sizes}, o, func(p *placement) {
			drafts := p.draftsOf(t, true, "ring", "all-pairs")
			var fitting []*program.Draft
			for _, d := range drafts {
				if p.Unfitting(d) == nil {
					fitting = append(fitting, d)
				}
			}
			for _, searched := range []int{program.OperationsOf(drafts), program.OperationsOf(fitting), program.OperationsOf(fitting) - 1} {
				short, err := p.shortlist(t.Context(), drafts, searched, searched/4)
				if err != nil {
					t.Fatal(err)
				}
				if o.Families != nil || searched >= program.OperationsOf(fitting) {
					if len(short.Drafts) != len(drafts) || len(short.Refusals) > 0 {
						t.Errorf("%v, room for %d operations: %d of %d drafts are left", o.Families, searched, len(short.Drafts), len(drafts))
					}
					continue
				}
				count := program.ByReason(short.Refusals)
				if program.OperationsOf(short.Drafts) > searched/4 || len(short.Drafts) == 0 || len(short.Drafts)+len(short.Refusals) != len(drafts) ||
					count[string(program.Outranked)] != len(fitting)-len(short.Drafts) || count[string(program.Threadblocks)]+count[string(program.Uncompiled)] != len(drafts)-len(fitting) {
					t.Errorf("room for %d operations: %d of %d drafts are left, refused %v", searched, len(short.Drafts), len(drafts), count)
				}
				for _, r := range short.Refusals {
					name, _, _ := strings.Cut(r.Candidate, " ")
					if r.Reason == program.Outranked && (!strings.HasPrefix(r.Detail, "estimated at ") || !strings.HasSuffix(r.Detail, "--family "+name+" takes it")) {
						t.Errorf("%s: want it to say how it is had anyway", r)
					}
				}
			}
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			if o.Families == nil {
				drafts = p.draftsOf(t, false, "ring", "all-pairs", "double-binary-tree")
				if _, err := p.shortlist(cancelled, drafts, 1, 1); !errors.Is(err, context.Canceled) {
					t.Errorf("%v, want it to end when the search does", err)
				}
			}
		})
	}
}
