package workload

// ordered are values that come one before another.
type ordered[T any] interface{ before(T) bool }

// queue is a heap of values, of which the least is the first.
type queue[T ordered[T]] []T

func (q *queue[T]) push(x T) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	*q = h
}

// pop removes the first; there is one.
func (q *queue[T]) pop() T {
	h := *q
	first, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if down >= len(h) || !h[down].before(x) {
			break
		}
		h[i] = h[down]
		i = down
	}
	if len(h) > 0 {
		h[i] = x
	}
	*q = h
	return first
}
