package greedy

import (
	"context"
	"errors"
	"testing"

	"github.com/colltune/colltune/constraints/internal/contexttest"
	"github.com/colltune/colltune/constraints/internal/publishedtest"
	"github.com/colltune/colltune/topologies"
)

// TestEnds ends the context after each number of checks: Route returns after few more,
// with the context's error or with a schedule found by then.
func TestEnds(t *testing.T) {
	early := 0
	for _, c := range []struct {
		top  *topologies.Topology
		coll string
	}{
		{resolve(t, "dgx-1", 1), "allgather"}, // matching
		{resolve(t, "mesh:4x3", 1), "reducescatter"},
		{publishedtest.NDv2(2), "allreduce"}, // local search
		{resolve(t, "dgx-a100", 4), "allgather"},
	} {
		o := Options{Collective: c.coll, Bytes: 1 << 20}
		unended := &contexttest.Countdown{Context: context.Background(), N: 1 << 30}
		whole, err := Route(unended, c.top, o)
		if err != nil {
			t.Fatal(err)
		}
		takes := 1<<30 - unended.N
		for n := 0; n < takes; n += 1 + n/4 {
			ctx := &contexttest.Countdown{Context: context.Background(), N: n}
			s, err := Route(ctx, c.top, o)
			switch {
			case s == nil && errors.Is(err, context.Canceled):
			case err != nil:
				t.Fatalf("%s: after %d of %d checks: %v, want that it was cancelled", c.top.Name, n, takes, err)
			default:
				early++
				if err := s.Check(c.top); err != nil || s.TimeUS < whole.TimeUS*(1-tolerance) {
					t.Fatalf("%s: after %d of %d checks: %v us (%v), and %v us in the end", c.top.Name, n, takes, s.TimeUS, err, whole.TimeUS)
				}
			}
			if -ctx.N > 100 {
				t.Errorf("%s: after %d of %d checks there were %d more", c.top.Name, n, takes, -ctx.N)
			}
		}
		if takes < 50 {
			t.Errorf("%s: %d checks: too few to mean much", c.top.Name, takes)
		}
	}
	if early == 0 {
		t.Error("no schedule was found early")
	}
}
