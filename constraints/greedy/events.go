package greedy

// event is the arrival of a chunk or, if chunk is none, the time at which a hop frees an
// edge.
type event struct {
	at    float64
	hop   int32
	chunk int32
}

// events is a heap of events, ordered by time.
type events []event

func (q *events) push(e event) {
	*q = append(*q, e)
	for i := len(*q) - 1; i > 0; {
		up := (i - 1) / 2
		if (*q)[up].at <= (*q)[i].at {
			break
		}
		(*q)[up], (*q)[i] = (*q)[i], (*q)[up]
		i = up
	}
}

func (q *events) pop() event {
	list := *q
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	*q = list
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(list) && list[down+1].at < list[down].at {
			down++
		}
		if down >= len(list) || list[i].at <= list[down].at {
			return first
		}
		list[i], list[down] = list[down], list[i]
		i = down
	}
}
