package search

import (
	"context"
	"time"
)

// abandonAfter is the time that work has to end once its context is done, with its
// solvers.
const abandonAfter = 300 * time.Millisecond

// runAbandonable does work that calls back through say, which runs the calls in this
// goroutine. If the work goes on for more than a moment after ctx is done, it is
// abandoned: its result is not used and its calls are ignored.
func runAbandonable[T any](ctx context.Context, work func(say func(func())) (T, error)) (T, error) {
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
			late, gone = nil, time.After(abandonAfter)
		case <-gone:
			var none T
			return none, ctx.Err()
		}
	}
}

// abandonable does work on a request whose observer is told in this goroutine, as runAbandonable.
func abandonable[T any](ctx context.Context, r *request, work func(*request) (T, error)) (T, error) {
	return runAbandonable(ctx, func(say func(func())) (T, error) {
		o := r.options
		o.Observer = o.Observer.Through(say)
		return work(&request{r.problem, o, r.asked})
	})
}
