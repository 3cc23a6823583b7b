package emulate

import (
	"container/heap"
	"math"
)

// timedStore is a store that others see only later.
type timedStore struct {
	seen  clock
	at    uint64
	bytes [16]byte
	n     int
}

// storeTimed makes a store visible when its time comes. A plain one is visible at
// once, because nobody looks before a fence has waited for it.
func (b *block) storeTimed(a *access, at uint64, bytes []byte) {
	m := b.grid.machine
	seen := m.running.time.now.and(Flags, m.running.lately, m.Costs.Store)
	b.seen, b.grid.drained = later(b.seen, seen), later(b.grid.drained, seen)
	delete(b.near, at/lineBytes)
	if a.strength == "" || a.atomic {
		m.put(at, bytes)
		return
	}
	one := timedStore{seen: seen, at: at, n: len(bytes)}
	copy(one.bytes[:], bytes)
	m.under = append(m.under, one)
	if len(m.under) == 1 || seen.at < m.nextSeen {
		m.nextSeen = seen.at
	}
}

// arriveUntil makes visible the stores whose time has come.
func (m *Machine) arriveUntil(now int) {
	if len(m.under) == 0 || now < m.nextSeen {
		return
	}
	left := m.under[:0]
	m.nextSeen = math.MaxInt
	for _, s := range m.under {
		if s.seen.at > now {
			left = append(left, s)
			m.nextSeen = min(m.nextSeen, s.seen.at)
			continue
		}
		m.put(s.at, s.bytes[:s.n])
		for word := s.at / 8; word <= (s.at+uint64(s.n)-1)/8; word++ {
			m.stored[word] = later(m.stored[word], s.seen)
		}
	}
	m.under = left
}

// byClock is the groups that can run, the one with the least clock first.
type byClock struct{ *Machine }

func (q byClock) Len() int           { return len(q.ready) }
func (q byClock) Less(i, j int) bool { return q.ready[i].time.now.at < q.ready[j].time.now.at }
func (q byClock) Swap(i, j int) {
	q.ready[i], q.ready[j] = q.ready[j], q.ready[i]
	q.ready[i].ready, q.ready[j].ready = i, j
}
func (q byClock) Push(x any) {
	g := x.(*group)
	g.ready = len(q.ready)
	q.Machine.ready = append(q.ready, g)
}
func (q byClock) Pop() any {
	g := q.ready[len(q.ready)-1]
	q.Machine.ready = q.ready[:len(q.ready)-1]
	g.ready = -1
	return g
}

// next is the group with the least clock, as soon as the registers that its next
// instruction reads are there, and all that others have stored until then is
// visible.
func (m *Machine) next() *group {
	for {
		g := m.ready[0]
		registers := g.time.top()
		if i := &g.f.code[g.pc]; !i.timed.renames {
			for _, s := range i.timed.reads {
				g.time.now = later(g.time.now, registers[s])
			}
		}
		heap.Fix(byClock{m}, 0)
		if m.ready[0] == g {
			m.arriveUntil(g.time.now.at)
			m.running = g
			return g
		}
	}
}

// settle puts a group that has run back in the order of clocks.
func (m *Machine) settle(g *group) {
	if g.ready >= 0 && !m.lost {
		heap.Fix(byClock{m}, g.ready)
	}
}
