package search

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// abreast does work for 0 to n-1, as many at a time as there are jobs and as have room
// together; what takes more than all of it is done alone. They begin in their order,
// none once ctx is done or one has failed, and each that began comes to its end: so the
// error, that of the first in order, is the same with any number of jobs.
func abreast(ctx context.Context, jobs, n int, room int64, takes func(i int) int64, work func(i int) error) error {
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
