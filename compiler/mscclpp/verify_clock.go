package mscclpp

// clock is a vector clock: by threadblock, the number of phases known to be
// complete. strong covers memory accesses, weak only execution.
type clock struct{ strong, weak []int32 }

// clockState is the clock of a threadblock or of the proxy of a port: its
// phase, the clock at the start of the phase, and the clocks of those of its
// threads that have waited since.
type clockState struct {
	phase int32
	start clock
	lent  bool // start is shared and must be copied before it changes
	lanes map[int]clock
	// weakly holds the clocks that packets read in this phase have proved.
	weakly []clock
	looks  []int // its events that read packets
	// taken is the lane that took from each counter in this phase. acted reports
	// whether the threadblock did something since, and unsure is a counter that
	// two lanes took from, or none.
	taken  map[int]int
	acted  bool
	unsure int
}

// merge returns the maximum of two clocks.
func (w *orderTracker) merge(a, b clock) clock {
	return clock{w.max(a.strong, b.strong), w.max(a.weak, b.weak)}
}

func (w *orderTracker) max(a, b []int32) []int32 {
	if &a[0] == &b[0] {
		return a
	}
	w.work += int64(len(a))
	c := make([]int32, len(a))
	for i, x := range a {
		c[i] = max(x, b[i])
	}
	return c
}

// clockOf returns the clock of one lane of a threadblock.
func (w *orderTracker) clockOf(t, lane int) clock {
	if c, ok := w.tbs[t].lanes[lane]; ok {
		return c
	}
	w.tbs[t].lent = true
	return w.tbs[t].start
}

func (w *orderTracker) learn(t, lane int, c clock) {
	s := &w.tbs[t]
	if s.lanes == nil {
		s.lanes = map[int]clock{}
	}
	s.lanes[lane] = w.merge(w.clockOf(t, lane), c)
}

// sync ends the current phase of a threadblock.
func (w *orderTracker) sync(t int) {
	s := &w.tbs[t]
	n := len(s.start.strong)
	next := s.start
	if s.lent {
		w.work += int64(n)
		next = clock{append(make([]int32, 0, n), next.strong...), append(make([]int32, 0, n), next.weak...)}
	}
	for _, c := range s.lanes {
		maxInto(next.strong, c.strong)
		maxInto(next.weak, c.weak)
	}
	for _, c := range s.weakly {
		maxInto(next.weak, c.weak)
	}
	w.work += int64(n * (len(s.lanes) + len(s.weakly)) / 4)
	s.phase++
	next.strong[t], next.weak[t] = s.phase, s.phase
	s.start, s.lanes, s.weakly, s.lent = next, nil, nil, false
	s.taken, s.acted, s.unsure = nil, false, nobody
}

// maxInto sets a to the maximum of a and b.
func maxInto(a, b []int32) {
	b = b[:len(a)]
	for i, x := range a {
		a[i] = max(x, b[i])
	}
}

// mergeAtBarrier gives all threadblocks at a barrier the maximum of their
// clocks.
func (w *orderTracker) mergeAtBarrier(here []int) {
	all := w.tbs[here[0]].start
	for _, t := range here[1:] {
		all = w.merge(all, w.tbs[t].start)
	}
	for _, t := range here {
		w.tbs[t].start, w.tbs[t].lent = all, true
	}
}
