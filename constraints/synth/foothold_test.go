package synth

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
)

// What is found above a query that was not settled ends the queue: of an allreduce on
// a ring of 5, (1,3,3) and then (2,3,3), above which nothing is asked.
func TestFoothold(t *testing.T) {
	col, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 5, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(Query{Topology: resolve(t, "ring:5", 0), Collective: col, Steps: 3, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	w := FrontierOptions{Chunks: 2, branches: forest{}, gathered: map[int]*tollkeeper{}}
	var told []rcRatio
	w.OnAnswer = func(chunks, steps, rounds int, _ Answer) { told = append(told, rcRatio{chunks, rounds}) }
	c := &ratioSearch{p: p, s: open(t, "pb"), w: w, steps: 3}
	point, l := &Point{}, p.ratioQueue(w, 3, big.NewRat(1, 2), nil)
	if err := c.foothold(t.Context(), point, rcRatio{2, 1}, l); err != nil {
		t.Fatal(err)
	}
	if point.Chunks != 2 || point.Rounds != 3 || point.Status != sat || len(told) != 2 {
		t.Errorf("(%d,3,%d) %v after %v, want (2,3,3) after (1,3,3)", point.Chunks, point.Rounds, point.Status, told)
	}
	for {
		r, _, more := l.next()
		if !more {
			break
		}
		if r.compare(rcRatio{2, 3}) >= 0 {
			t.Errorf("(%d,3,%d) is still to be asked", r.chunks, r.rounds)
		}
	}
	if c.brief != 0 || c.spare != 0 {
		t.Errorf("%v and %v are left of its limits", c.brief, c.spare)
	}
}

// A number of steps gets a part of the time there is, where that is the clock's; the
// last one all of it.
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

// soon is a context whose deadline is always now, and which never ends: all that ends
// is the parts of its time.
type soon struct{ context.Context }

func (soon) Deadline() (time.Time, bool) { return time.Now(), true }

// A frontier search says so where a number of steps had no time left, even if it went on.
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
