package contexttest

import "context"

// Countdown is a context that ends after N calls of Err.
type Countdown struct {
	context.Context
	N int // calls left; below 0, minus the calls since the end
}

// Err returns nil for the first N calls, and then context.Canceled.
func (c *Countdown) Err() error {
	if c.N--; c.N < 0 {
		return context.Canceled
	}
	return nil
}
