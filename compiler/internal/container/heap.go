package container

// Heap is a binary min-heap of numbers. The zero value is an empty heap.
type Heap []int32

// Push adds a number.
func (h *Heap) Push(i int32) {
	q := append(*h, i)
	at := len(q) - 1
	for at > 0 {
		up := (at - 1) / 2
		if q[up] <= i {
			break
		}
		q[at] = q[up]
		at = up
	}
	q[at] = i
	*h = q
}

// Pop removes and returns the least number. It reports false if the heap is empty.
func (h *Heap) Pop() (int32, bool) {
	q := *h
	if len(q) == 0 {
		return -1, false
	}
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return top, true
	}
	at := 0
	for {
		down := 2*at + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1] < q[down] {
			down++
		}
		if q[down] >= last {
			break
		}
		q[at] = q[down]
		at = down
	}
	q[at] = last
	return top, true
}
