package mscclpp

import "fmt"

// orderedByPackets reports whether a sequence of packets orders read a before
// write b. A thread that writes a packet has read the data in it, so a thread
// that reads the packet comes after that read.
func (w *orderTracker) orderedByPackets(a, b cellAccess) bool {
	type at struct{ event, element int32 }
	const all = -1
	x := &w.events[a.event]
	seen := map[at]bool{}
	stack := []at{{b.event, b.element}}
	for n := 0; len(stack) > 0; n++ {
		if n > maxChain {
			return false
		}
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[s] || seen[at{s.event, all}] {
			continue
		}
		seen[s] = true
		e := &w.events[s.event]
		w.work += int64(e.seen)
		for _, p := range w.packetReads[e.looks : e.looks+e.seen] {
			if s.element != all && p.element != s.element {
				continue
			}
			if p.event == a.event && p.from == a.element {
				return true
			}
			if f := &w.events[p.event]; f.weak.at(int(x.who)) > x.phase {
				return true
			}
			stack = append(stack, at{p.event, p.from})
		}
		// Packets that its threadblock read in earlier phases.
		looks := w.tbs[e.who].looks
		w.work += int64(len(looks))
		for i := len(looks) - 1; i >= 0; i-- {
			if before := &w.events[looks[i]]; before.phase < e.phase {
				stack = append(stack, at{int32(looks[i]), all})
			}
		}
	}
	return false
}

// checkBegun checks that a rank's kernel is known to have begun when another
// rank accesses the user's buffers there. Before that, they belong to the
// caller.
func (w *orderTracker) checkBegun(who, c int, g *region, rank int) {
	e := &w.events[who]
	if !g.user || w.m.tbs[e.tb].gpu == rank || w.started == [2]int{who, rank} {
		return
	}
	w.started = [2]int{who, rank}
	w.work += int64(w.m.firstTB[rank+1] - w.m.firstTB[rank])
	for t := w.m.firstTB[rank]; t < w.m.firstTB[rank+1]; t++ {
		if w.at.weak.at(t) > 0 {
			return
		}
	}
	_, b, at := w.m.memory.Where(c)
	w.unordered(e, fmt.Sprintf("%s accesses %s[%d] of gpu %d, and nothing says that this has begun", w.m.name(e), b, at/w.m.size.cells, rank))
}

// checkEnd checks that no rank's kernel ends before the last access of other
// ranks to the user's buffers there.
func (w *orderTracker) checkEnd() {
	m := w.m
	known := make([]clock, len(m.p.GPUs))
	for t := range w.tbs {
		w.sync(t)
	}
	if !m.r.OK() {
		return
	}
	for g := range known {
		for t := m.firstTB[g]; t < m.firstTB[g+1]; t++ {
			if known[g].strong == nil {
				known[g] = w.tbs[t].start
			} else {
				known[g] = w.merge(known[g], w.tbs[t].start)
			}
		}
	}
	if w.checkNextLaunch(known); !m.r.OK() {
		return
	}
	for c := range w.cells {
		if w.checkWork(); !m.r.OK() {
			return
		}
		rank, b, at := m.memory.Where(c)
		if b > 1 || known[rank].strong == nil {
			continue
		}
		late := func(t cellAccess, knows counts) bool {
			e := &w.events[t.event]
			return (m.tbs[e.tb].gpu != rank || e.who != e.tb) && knows.at(int(e.who)) <= e.phase
		}
		if t := w.cells[c].write; t.event >= 0 {
			if e := &w.events[t.event]; late(t, known[rank].weak) {
				w.unordered(e, fmt.Sprintf("%s writes %s[%d] of gpu %d, which may be done before", m.name(e), b, at/m.size.cells, rank))
			} else if late(t, known[rank].strong) && !w.relaxed {
				w.relaxed = true
				m.warn(rank, -1, -1, "%s[%d] is written by %s, and only a relaxed signal says that it is done", b, at/m.size.cells, m.name(e))
			}
		}
		for r := w.cells[c].reads; r >= 0; r = w.reads[r].next {
			e := &w.events[w.reads[r].event]
			switch {
			case !late(w.reads[r], known[rank].weak) || w.packetProves(rank, w.reads[r]):
			case m.tbs[e.tb].gpu == rank:
				if !w.handed {
					w.handed = true
					m.warn(rank, int(m.tbs[e.tb].id), e.in.at, "%s[%d] is handed to a port, which may still read it when the kernel ends", b, at/m.size.cells)
				}
			default:
				w.unordered(e, fmt.Sprintf("%s reads %s[%d] of gpu %d, which may be done before", m.name(e), b, at/m.size.cells, rank))
			}
		}
	}
}

// packetProves reports whether some threadblock of a rank received a packet
// that proves read a.
func (w *orderTracker) packetProves(rank int, a cellAccess) bool {
	for t := w.m.firstTB[rank]; t < w.m.firstTB[rank+1]; t++ {
		for _, look := range w.tbs[t].looks {
			w.work += int64(w.events[look].seen)
			for _, p := range w.packetReads[w.events[look].looks : w.events[look].looks+w.events[look].seen] {
				if p.event == a.event && p.from == a.element {
					return true
				}
			}
		}
	}
	return false
}
