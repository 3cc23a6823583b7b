package search

import (
	"context"
	"errors"
	"testing"

	"github.com/colltune/colltune/search/program"
)

// TestLeavesWorkBehind: work that never ends is left once nobody wants it, and
// what it says before that is heard, in order.
func TestLeavesWorkBehind(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	var heard []int
	_, err := runAbandonable(ctx, func(say func(func())) (int, error) {
		for i := range 3 {
			say(func() { heard = append(heard, i) })
		}
		say(cancel)
		<-stuck
		return 1, nil
	})
	if !errors.Is(err, context.Canceled) || len(heard) != 3 || heard[2] != 2 {
		t.Errorf("%v after hearing %v: want the context's error after 0 1 2", err, heard)
	}
}

// TestWaitsForWork: work that ends by itself gives its own answer, also just
// after the context is done.
func TestWaitsForWork(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := runAbandonable(ctx, func(func(func())) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("%d, %v: want 7", got, err)
	}
}

// TestInterruptedEnumeration: a context that ends while candidates are
// enumerated ends the enumeration, with the context's error.
func TestInterruptedEnumeration(t *testing.T) {
	p, _ := problem{"dgx-a100", 1, "allreduce", []int64{1 << 20}}.resolve(t)
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Executor: "sim", Observer: program.Observer{Refused: func(program.Refusal) { cancel() }}}
	if s, err := Enumerate(ctx, p, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v: want the context's error", s, err)
	}
}
