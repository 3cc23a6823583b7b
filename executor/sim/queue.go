package sim

// queue orders events by time, and by id at equal times. An id has at most one event, which
// can be moved or removed. It is a 4-ary heap with the index of each id.
type queue struct {
	heap []event
	at   []int32 // by id: its place in heap, or -1
}

type event struct {
	time float64
	id   int32
}

func (e event) before(o event) bool {
	return e.time < o.time || e.time == o.time && e.id < o.id
}

// reset empties the queue, for ids below n.
func (q *queue) reset(n int) {
	q.heap = q.heap[:0]
	q.at = q.at[:0]
	q.grow(n)
}

// grow extends the queue for ids below n.
func (q *queue) grow(n int) {
	for len(q.at) < n {
		q.at = append(q.at, -1)
	}
}

// set puts the event of id at a time, wherever it was before.
func (q *queue) set(id int32, time float64) {
	i := q.at[id]
	if i < 0 {
		i = int32(len(q.heap))
		q.heap = append(q.heap, event{time, id})
		q.up(int(i), event{time, id})
		return
	}
	e := event{time, id}
	if e.before(q.heap[i]) {
		q.up(int(i), e)
	} else {
		q.down(int(i), e)
	}
}

// remove removes the event of id, if there is one.
func (q *queue) remove(id int32) {
	i := q.at[id]
	if i < 0 {
		return
	}
	q.at[id] = -1
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	if last.id == id {
		return
	}
	if int(i) > 0 && last.before(q.heap[(i-1)/4]) {
		q.up(int(i), last)
	} else {
		q.down(int(i), last)
	}
}

// pop removes and returns the first event.
func (q *queue) pop() event {
	first := q.heap[0]
	q.remove(first.id)
	return first
}

func (q *queue) up(i int, e event) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		q.at[q.heap[i].id] = int32(i)
		i = parent
	}
	q.heap[i] = e
	q.at[e.id] = int32(i)
}

func (q *queue) down(i int, e event) {
	n := len(q.heap)
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < n && c < child+4; c++ {
			if q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(e) {
			break
		}
		q.heap[i] = q.heap[least]
		q.at[q.heap[i].id] = int32(i)
		i = least
	}
	q.heap[i] = e
	q.at[e.id] = int32(i)
}
