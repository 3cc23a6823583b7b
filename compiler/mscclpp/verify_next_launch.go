package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// checkNextLaunch checks that the next launch can use scratch: its first write
// to a place must come after all accesses of this launch. A rank's launches run
// one after another, so its clock begins with the clock at its last end; and if
// it knows that another rank has begun, with that rank's clock at its last end.
//
//	gpu 0, next launch                    gpu 1, this launch
//	  put in[0] → gpu 1 sc[0]     ?         re in[0] + sc[0] → in[0]
//
// Scratch in two halves is not checked: the next launch uses the other half. A
// lint in rules.go covers packets that it might overwrite.
func (w *orderTracker) checkNextLaunch(known []clock) {
	m := w.m
	if m.p.DoubleScratch {
		return
	}
	for c := range w.cells {
		if w.checkWork(); !m.r.OK() {
			return
		}
		if w.cells[c].first == nobody || w.firsts[w.cells[c].first].packets {
			continue
		}
		y := w.firsts[w.cells[c].first]
		late := func(x cellAccess, writes bool) {
			if x.event >= 0 && !x.packets && m.r.OK() && !w.completeBefore(x, writes, y, known) {
				rank, _, at := m.memory.Where(c)
				e := &w.events[y.event]
				w.unordered(e, fmt.Sprintf("%s writes %s[%d] of gpu %d, where %s of the launch before may still be at it",
					m.name(e), collective.Scratch, at/(m.scratchCells()*m.double), rank, m.name(&w.events[x.event])))
			}
		}
		late(w.cells[c].write, true)
		for r := w.cells[c].reads; r >= 0; r = w.reads[r].next {
			late(w.reads[r], false)
		}
	}
}

// completeBefore reports whether access x of one launch is complete when access
// y of the next is made, because one of the ranks that are known to have begun
// knew it.
func (w *orderTracker) completeBefore(x cellAccess, writes bool, y cellAccess, known []clock) bool {
	m := w.m
	a, b := &w.events[x.event], &w.events[y.event]
	told := func(g int) bool {
		switch {
		case known[g].strong == nil:
			return false
		case m.tbs[a.tb].gpu == g && a.who == a.tb:
			return true // its kernel has ended
		case writes:
			return known[g].strong.at(int(a.who)) > a.phase
		}
		return known[g].weak.at(int(a.who)) > a.phase
	}
	if told(m.tbs[b.tb].gpu) {
		return true
	}
	for g := range known {
		w.work += int64(m.firstTB[g+1] - m.firstTB[g])
		for t := m.firstTB[g]; t < m.firstTB[g+1]; t++ {
			if b.weak.at(t) > 0 {
				if told(g) {
					return true
				}
				break
			}
		}
	}
	return false
}
