package looks

import "context"

// Left is a context that is over once it has been looked at N times.
type Left struct {
	context.Context
	N int
}

// Err counts a look, and is an error from look N+1 on.
func (c *Left) Err() error {
	if c.N--; c.N < 0 {
		return context.Canceled
	}
	return nil
}
