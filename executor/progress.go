package executor

import (
	"context"
	"sync/atomic"
)

type progressKey struct{}

// WithProgress returns a context whose Progress is stored in done. It is for those that
// serve an executor.
func WithProgress(ctx context.Context, done *atomic.Int64) context.Context {
	return context.WithValue(ctx, progressKey{}, done)
}

// Progress reports to the host how far the trial of ctx has come: done may be in any unit,
// but only grows. A trial that has reported progress and then stands still is stuck; one
// that never does is held only to its deadline. It is one atomic store. Executors call it.
func Progress(ctx context.Context, done int64) {
	if p, ok := ctx.Value(progressKey{}).(*atomic.Int64); ok {
		p.Store(done)
	}
}
