package limited

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// ForEach calls work for 0 to n-1, with at most jobs calls at a time and as many as
// have room together; one that takes more than all the room runs alone. Calls
// begin in order, none after ctx is done or one has failed, and every call that
// began is waited for. So the error, which is that of the first in order, is the
// same for any number of jobs.
func ForEach(ctx context.Context, jobs, n int, room int64, takes func(i int) int64, work func(i int) error) error {
	errs := make([]error, n)
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(max(jobs, 1))
	left := semaphore.NewWeighted(room)
	for i := range n {
		of := min(max(takes(i), 0), room)
		if ctx.Err() != nil || left.Acquire(ctx, of) != nil || failed.Load() {
			break
		}
		group.Go(func() error {
			defer left.Release(of)
			if errs[i] = work(i); errs[i] != nil {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
