package container

import "slices"

// SlicePool holds slices that passes no longer need, for reuse. In a program of
// millions of instructions each takes tens of megabytes, and fresh memory costs
// more to obtain than to clear. The zero value is an empty pool.
type SlicePool struct{ free [][]int32 }

// Take returns a slice of n zeros, which the caller owns.
func (r *SlicePool) Take(n int) []int32 {
	best := -1
	for k, a := range r.free {
		if cap(a) >= n && (best == -1 || cap(a) < cap(r.free[best])) {
			best = k
		}
	}
	if best == -1 {
		return make([]int32, n, n+2) // lists of row starts have an element or two more
	}
	a := r.free[best][:n]
	r.free = slices.Delete(r.free, best, best+1)
	clear(a)
	return a
}

// Give returns slices to the pool. The caller must not use them again.
func (r *SlicePool) Give(arrays ...[]int32) {
	for _, a := range arrays {
		if cap(a) > 0 {
			r.free = append(r.free, a)
		}
	}
}

// Keep drops all slices but those given last that have room for n elements together. A pool
// that serves many programs would keep slices for all their sizes.
func (r *SlicePool) Keep(n int) {
	for k := len(r.free) - 1; k >= 0; k-- {
		if n -= cap(r.free[k]); n < 0 {
			r.free = slices.Clone(r.free[k+1:])
			return
		}
	}
}
