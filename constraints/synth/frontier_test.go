package synth

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
)

// With a deadline each number of steps gets a share of the time left, the last one all of
// it; with a budget of work none does.
func TestPartOfTheTime(t *testing.T) {
	whole, cancel := context.WithTimeout(t.Context(), 300*time.Hour)
	defer cancel()
	for _, c := range []struct {
		what  string
		ctx   context.Context
		w     FrontierOptions
		left  int
		hours float64 // 0: as it was
	}{
		{"no deadline", t.Context(), FrontierOptions{}, 5, 0},
		{"by work", whole, FrontierOptions{Work: time.Second}, 5, 300},
		{"one of many", whole, FrontierOptions{}, 5, 100},
		{"one of two", whole, FrontierOptions{}, 2, 150},
		{"the last", whole, FrontierOptions{}, 1, 300},
	} {
		ctx, cancel := c.w.timeFor(c.ctx, c.left)
		deadline, ok := ctx.Deadline()
		cancel()
		if got := time.Until(deadline).Hours(); ok != (c.hours > 0) || ok && (got > c.hours || got < c.hours-1) {
			t.Errorf("%s: %v hours (%v), want %v", c.what, got, ok, c.hours)
		}
	}
}

// soon is a context whose deadline is always now and which never ends: only the shares of
// its time do.
type soon struct{ context.Context }

func (soon) Deadline() (time.Time, bool) { return time.Now(), true }

// A frontier search with a number of steps that had no time left returns that, even if it
// went on.
func TestNoTimeForSomeSteps(t *testing.T) {
	col, err := collective.New(collective.Spec{Name: "allgather", Ranks: 5, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	points, _, err := Frontier(soon{t.Context()}, open(t, "pb"), Query{Topology: resolve(t, "ring:5", 0), Collective: col}, FrontierOptions{})
	if len(points) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d points, %v, want none, and that the time ended", len(points), err)
	}
}
