package mscclpp

// clock is a vector clock: by threadblock, the number of phases known to be
// complete. strong covers memory accesses, weak only execution.
type clock struct{ strong, weak counts }

// clockState is the clock of a threadblock or of the proxy of a port: its
// phase, the clock at the start of the phase, and the clocks of those of its
// threads that have waited since.
type clockState struct {
	phase int32
	start clock
	lanes []clock // by lane, all of start included; empty for one that has not waited
	// weakly holds what packets read in this phase have proved.
	weakly []counts
	looks  []int // its events that read packets
	// taken is the lane that took from each counter in this phase. acted reports
	// whether the threadblock did something since, and unsure is a counter that
	// two lanes took from, or none.
	taken  map[int]int
	acted  bool
	unsure int
}

func (w *orderTracker) merge(a, b clock) clock {
	return clock{w.max(a.strong, b.strong), w.max(a.weak, b.weak)}
}

func (w *orderTracker) max(a, b counts) counts {
	c, looked := a.max(b)
	w.work += int64(looked)
	return c
}

func (w *orderTracker) clockOf(t, lane int) clock {
	if lanes := w.tbs[t].lanes; lane < len(lanes) && lanes[lane].strong != nil {
		return lanes[lane]
	}
	return w.tbs[t].start
}

func (w *orderTracker) learn(t, lane int, c clock) {
	s := &w.tbs[t]
	for len(s.lanes) <= lane {
		s.lanes = append(s.lanes, clock{})
	}
	s.lanes[lane] = w.merge(w.clockOf(t, lane), c)
}

// sync ends the current phase of a threadblock.
func (w *orderTracker) sync(t int) {
	s := &w.tbs[t]
	var next clock
	for _, c := range s.lanes {
		switch {
		case c.strong == nil:
		case next.strong == nil:
			next = c
		default:
			next = w.merge(next, c)
		}
	}
	if next.strong == nil {
		next = s.start
	}
	for _, weak := range s.weakly {
		next.weak = w.max(next.weak, weak)
	}
	s.phase++
	s.start = clock{next.strong.with(t, s.phase), next.weak.with(t, s.phase)}
	w.work += int64(2 * (len(next.strong) + countPages + countsInPage))
	clear(s.lanes)
	s.lanes, s.weakly = s.lanes[:0], nil
	s.taken, s.acted, s.unsure = nil, false, nobody
}

// mergeAtBarrier gives all threadblocks at a barrier the maximum of their
// clocks.
func (w *orderTracker) mergeAtBarrier(here []int) {
	all := w.tbs[here[0]].start
	for _, t := range here[1:] {
		all = w.merge(all, w.tbs[t].start)
	}
	for _, t := range here {
		w.tbs[t].start = all
	}
}
