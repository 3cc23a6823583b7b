package search

import (
	"errors"
	"testing"

	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies/topotest"
)

// A program that is refused while it is traced, because a rank sends to more ranks than a GPU
// has SMs, is one that has no room when it is traced to its end.
func TestTooManyPeersAreTooManyThreadblocks(t *testing.T) {
	top := topotest.Resolve(t, "dgx-a100", 2).Clone()
	for r := range top.Ranks {
		top.Ranks[r].SMs = 6
	}
	e := enumerationOf(t, top)
	refused, kept := 0, 0
	for _, name := range []string{"allgather", "alltoall"} {
		for _, f := range templates.ForCollective(templates.Builtin(), name) {
			grid, _ := applying(t, e, f, name)
			for _, params := range grid {
				whole, err := f.Trace(e.machine, e.request(), params)
				if err != nil {
					t.Fatal(err)
				}
				cost := summarizeMessages(whole, top)
				_, err = e.trace(f, params)
				var r *Refusal
				switch early := errors.As(err, &r) && r.Reason == Threadblocks; {
				case early:
					refused++
					if e.unfitting(&draft{instances: 1, routing: &routing{cost: cost}}) == nil {
						t.Errorf("%s: %v, and it needs %d threadblocks", candidateName(f.Name, params, 1), err, cost.connections)
					}
				case err == nil:
					kept++
				}
			}
		}
	}
	if refused < 5 || kept < 20 {
		t.Errorf("%d refused, %d not: want some of both", refused, kept)
	}
}
