package search

import (
	"time"
)

// The stages of an enumeration. Under a budget, each has a part of the time, and what it
// leaves out is gone through in the time that is left after tuning, or by a later search.
//
//	budget ├ trace ─┼ compile ─┼ tune ──────────┤     a quarter, a quarter, and the rest;
//	                           ├ trace ┼ compile ┼ tune ┤    what was left, where time is
type stage int

const (
	tracing stage = iota
	building
)

// deadline reports whether it is too late to begin more of a stage in a placement, an
// index below of, when a part of the stage, from 0 to 1, has to be done. What has begun
// is finished: a context would end it.
type deadline func(s stage, placement, of int, part float64) bool

// halfOf is the deadline for half of what is left of a budget: the stages of a placement
// one after the other, each family with its part of the tracing.
func halfOf(left time.Duration, from time.Time) deadline {
	return func(s stage, placement, of int, part float64) bool {
		return time.Since(from).Seconds() > left.Seconds()/2*(float64(2*placement+int(s))+part)/float64(2*of)
	}
}
