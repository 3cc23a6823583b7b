package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// ordered checks that access a comes before access b, of the last event, to the same
// cell. Weak order suffices if weakly is set, which is for a read a.
func (w *orderTracker) ordered(a, b cellAccess, c int, weakly bool) {
	if a.event < 0 {
		return
	}
	x, y := &w.events[a.event], &w.events[b.event]
	known := w.at.strong
	if weakly {
		known = w.at.weak
	}
	switch {
	case a.event == b.event:
		if a.element == b.element && weakly {
			return
		}
	case known.at(int(x.who)) > x.phase:
		return
	case x.who == y.who && x.who != x.tb:
		return // a port works in order
	case x.who == y.who && x.phase == y.phase && a.first == b.first && a.packets == b.packets && x.in.threadLayout() == y.in.threadLayout():
		return // the same thread
	case weakly && w.orderedByPackets(a, b):
		return
	}
	w.race(a, b, c)
}

// threadLayout returns how an instruction divides the elements of a place among
// its threads: by the vector (0), by the packet (1), or by the multimem vector
// (2). Each thread gets the same elements of two places only if they are
// divided alike.
func (in *instr) threadLayout() int {
	if in.packets() {
		return 1
	}
	if in.op.Kind.Name == "glres" {
		return 2
	}
	return 0
}

func (w *orderTracker) race(a, b cellAccess, c int) {
	m := w.m
	x, y := &w.events[a.event], &w.events[b.event]
	rank, buffer, at := m.memory.Where(c)
	per := m.size.cells
	if buffer == collective.Scratch {
		per = m.scratchCells() * m.double
	}
	message := fmt.Sprintf("%s and %s both access %s[%d] of gpu %d, and nothing orders them", m.name(y), m.name(x), buffer, at/per, rank)
	if a.event == b.event {
		message = fmt.Sprintf("%s accesses %s[%d] of gpu %d twice, and nothing orders that", m.name(y), buffer, at/per, rank)
	}
	w.unordered(y, message)
}

// unordered reports a possible wrong order at an event. It is a warning if the
// order is unknown.
func (w *orderTracker) unordered(e *event, message string) {
	m := w.m
	tb := &m.tbs[e.tb]
	if len(m.unknownOrder) > 0 {
		if !m.said {
			m.said = true
			m.warn(tb.gpu, tb.id, e.in.at, "%s as far as can be followed: who goes first is not followed where there are several (%s)", message, m.unknownOrderReasons())
		}
		return
	}
	m.fail(verify.Race, tb.gpu, tb.id, e.in.at, "%s", message)
}

func (m *machine) name(e *event) string {
	tb := &m.tbs[e.tb]
	return fmt.Sprintf("gpu %d threadblock %d op %d (%s)", tb.gpu, tb.id, e.in.at, e.in.op.Kind.Name)
}

func (in *instr) packets() bool {
	for _, regions := range [...][]region{in.src, in.dst} {
		for i := range regions {
			if regions[i].packets {
				return true
			}
		}
	}
	return false
}
