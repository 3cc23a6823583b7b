package compiler

import "slices"

// room is the arrays of numbers that passes have done with, for others to use: of a
// program of millions of instructions each takes tens of megabytes, and memory that
// was never touched before costs more to have than to fill.
type room struct{ free [][]int32 }

// take is n zeros.
func (r *room) take(n int) []int32 {
	best := none
	for k, a := range r.free {
		if cap(a) >= n && (best == none || cap(a) < cap(r.free[best])) {
			best = k
		}
	}
	if best == none {
		return make([]int32, n, n+2) // a list of where rows begin has one or two more
	}
	a := r.free[best][:n]
	r.free = slices.Delete(r.free, best, best+1)
	clear(a)
	return a
}

// give takes back arrays that nobody looks at any more.
func (r *room) give(arrays ...[]int32) {
	for _, a := range arrays {
		if cap(a) > 0 {
			r.free = append(r.free, a)
		}
	}
}
