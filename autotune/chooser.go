package autotune

import (
	"context"

	"github.com/colltune/colltune/results"
)

// chooser decides what a tuner measures.
type chooser interface {
	// next returns trials to measure together; none: it expects no more of any, as times are.
	// An error is a limit that is too near for more.
	next(ctx context.Context) ([]*trial, error)
	// files returns, once the winners are confirmed, trials that decide which files the
	// runtimes get that load few; none: they are decided.
	files(ctx context.Context) ([]*trial, error)
	// outlook returns how many cells are done, and what is expected of further trials.
	outlook() (finished int, all []results.Outlook)
}
