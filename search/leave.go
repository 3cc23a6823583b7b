package search

import (
	"context"
	"time"
)

// grace is what work that is no longer wanted has to end by itself, its solvers
// with it.
const grace = 300 * time.Millisecond

// leave does work, whose say calls back in this goroutine. Where the work goes
// on once ctx is done it is left behind after a moment: nothing of it is used,
// and what it says is not heard.
func leave[T any](ctx context.Context, work func(say func(func())) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	calls, left, done := make(chan func()), make(chan struct{}), make(chan outcome, 1)
	defer close(left)
	go func() {
		value, err := work(func(call func()) {
			select {
			case calls <- call:
			case <-left:
			}
		})
		done <- outcome{value, err}
	}()
	late := ctx.Done()
	var gone <-chan time.Time
	for {
		select {
		case call := <-calls:
			call()
		case o := <-done:
			return o.value, o.err
		case <-late:
			late, gone = nil, time.After(grace)
		case <-gone:
			var none T
			return none, ctx.Err()
		}
	}
}
