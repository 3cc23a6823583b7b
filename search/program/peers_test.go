package program

import (
	"errors"
	"testing"

	"github.com/colltune/colltune/search/program/cost"
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
	refused, kept := 0, 0
	for _, name := range []string{"allgather", "alltoall"} {
		b := builderOn(t, top, name, Options{Simulated: true})
		for _, f := range templates.ForCollective(templates.Builtin(), name) {
			grid, _ := applying(t, b, f)
			for _, params := range grid {
				whole, err := f.Trace(b.machine, b.target.Request(), params)
				if err != nil {
					t.Fatal(err)
				}
				of := cost.Messages(whole, top)
				_, err = b.traceFor(f, params, b.target.Request())
				var r *Refusal
				switch early := errors.As(err, &r) && r.Reason == Threadblocks; {
				case early:
					refused++
					if b.Unfitting(&Draft{Instances: 1, Routing: &Routing{cost: of}}) == nil {
						t.Errorf("%s: %v, and it needs %d threadblocks", CandidateName(f.Name, params, 1), err, of.Connections)
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
