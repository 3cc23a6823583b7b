package compiler

import "slices"

// slicePool holds slices that passes no longer need, for reuse. In a program of
// millions of instructions each takes tens of megabytes, and fresh memory costs
// more to obtain than to clear. The zero value is an empty pool.
type slicePool struct{ free [][]int32 }

// take returns a slice of n zeros, which the caller owns.
func (r *slicePool) take(n int) []int32 {
	best := none
	for k, a := range r.free {
		if cap(a) >= n && (best == none || cap(a) < cap(r.free[best])) {
			best = k
		}
	}
	if best == none {
		return make([]int32, n, n+2) // lists of row starts have an element or two more
	}
	a := r.free[best][:n]
	r.free = slices.Delete(r.free, best, best+1)
	clear(a)
	return a
}

// give returns slices to the pool. The caller must not use them again.
func (r *slicePool) give(arrays ...[]int32) {
	for _, a := range arrays {
		if cap(a) > 0 {
			r.free = append(r.free, a)
		}
	}
}
