package greedy

import (
	"cmp"
	"math"
	"slices"
)

// match looks for a schedule that takes exactly the lower bound. Within that time, each link
// into a rank can carry a certain number of messages, and a chunk cannot leave a neighbour
// before it could get there over otherwise unused links. Which message carries which chunk is
// a bipartite matching, for each rank separately:
//
//	into rank 0 of a DGX-1     0 ────── τ ────── 2τ ───── 3τ = bound
//	from 1, a double link      │ 1      │ 2      │ 3      │
//	from 4, a double link      │ 4      │ 5      │ 7      │
//	from 2, a single link               │ 6               │   by then 2 has it from 6
//	from 3, a single link      │                          │
//
// So slow links wait for chunks that fast ones cannot bring. The matchings of different ranks
// can contradict each other: the result is nil if one relies on a chunk that another does not
// deliver in time.
func (n *hopGraph) match(part, floor float64) []message {
	took, arrive := make([]float64, len(n.hops)), make([]float64, len(n.hops))
	var busy []float64
	for h := range n.hops {
		busy, arrive[h] = n.cost(int32(h), part, busy[:0])
		took[h] = busy[0]
	}
	soonest := n.earliest(arrive)
	m := &matching{}
	var list []plannedSend
	for v := range n.ranks {
		if n.ctx.Err() != nil {
			return nil
		}
		m.slots = m.slots[:0]
		for _, h := range n.in[v] {
			count := min(math.Floor((floor-arrive[h])/took[h])+1, float64(n.ranks-1))
			for k := range int(max(0, count)) {
				m.slots = append(m.slots, slot{hop: h, starts: float64(k) * took[h],
					latest: floor - arrive[h] - (count-1-float64(k))*took[h]})
			}
		}
		slices.SortStableFunc(m.slots, func(a, b slot) int { return cmp.Compare(a.starts+arrive[a.hop], b.starts+arrive[b.hop]) })
		if !m.match(n, v, soonest) {
			return nil
		}
		list = m.plan(list, n, took, soonest)
	}
	slices.SortStableFunc(list, func(a, b plannedSend) int { return cmp.Compare(a.at, b.at) })
	return n.validate(list, arrive)
}

// plan appends the messages into a rank. Messages of a link leave as early as possible, in the
// order in which their chunks are ready, each after the one before it, and within its slot.
func (m *matching) plan(list []plannedSend, n *hopGraph, took, soonest []float64) []plannedSend {
	byHop := map[int32][]int{} // its occupied slots, earliest first
	var hops []int32
	for i, c := range m.chunk {
		if h := m.slots[i].hop; c != none {
			if byHop[h] == nil {
				hops = append(hops, h)
			}
			byHop[h] = append(byHop[h], i)
		}
	}
	for _, h := range hops {
		ready := func(c int32) float64 { return soonest[int(c)*n.ranks+int(n.hops[h].From)] }
		slots, waiting := byHop[h], make([]int32, 0, len(byHop[h]))
		for _, i := range slots {
			waiting = append(waiting, m.chunk[i])
		}
		slices.SortStableFunc(waiting, func(a, b int32) int { return cmp.Compare(ready(a), ready(b)) })
		free := 0.0
		for k, i := range slots {
			at := max(free, m.slots[i].starts, ready(waiting[k]))
			free = at + took[h]
			list = append(list, plannedSend{at, h, waiting[k]})
		}
	}
	return list
}

// mixed reports whether some rank has incoming links of different speeds.
func (n *hopGraph) mixed() bool {
	for _, hops := range n.in {
		for _, h := range hops {
			if n.t.Edges[n.hops[h].Edges[0]].Bandwidth != n.t.Edges[n.hops[hops[0]].Edges[0]].Bandwidth {
				return true
			}
		}
	}
	return false
}

// plannedSend is a message with the time at which it should leave, in microseconds.
type plannedSend struct {
	at    float64
	hop   int32
	chunk int32
}

// validate returns the messages without their times, or nil if some sender does not have the
// chunk in time.
func (n *hopGraph) validate(list []plannedSend, arrive []float64) []message {
	ready := make([]float64, n.ranks*n.ranks)
	for i := range ready {
		if i/n.ranks != i%n.ranks {
			ready[i] = math.Inf(1)
		}
	}
	messages, backing := make([]message, len(list)), make([]int32, len(list))
	for i, p := range list {
		hop := &n.hops[p.hop]
		if ready[int(hop.From)*n.ranks+int(p.chunk)] > p.at*(1+tolerance) {
			return nil
		}
		ready[int(hop.To)*n.ranks+int(p.chunk)] = p.at + arrive[p.hop]
		backing[i] = p.chunk
		messages[i] = message{hop: p.hop, chunks: backing[i : i+1 : i+1]}
	}
	return messages
}

// earliest returns, by source and rank, the earliest time at which a chunk can arrive over
// otherwise unused links.
func (n *hopGraph) earliest(arrive []float64) []float64 {
	all := make([]float64, n.ranks*n.ranks)
	queue, waits := make([]int32, 0, n.ranks), make([]bool, n.ranks)
	for s := range n.ranks {
		if n.ctx.Err() != nil {
			break
		}
		at := all[s*n.ranks : (s+1)*n.ranks]
		for v := range at {
			at[v] = math.Inf(1)
		}
		at[s] = 0
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue); i++ {
			u := queue[i]
			waits[u] = false
			for _, h := range n.out[u] {
				to := n.hops[h].To
				if t := at[u] + arrive[h]; t < at[to]*(1-tolerance) {
					if at[to] = t; !waits[to] {
						waits[to] = true
						queue = append(queue, to)
					}
				}
			}
		}
	}
	return all
}

// matching assigns a rank's chunks to messages, one to each, by augmenting paths.
type matching struct {
	slots []slot
	chunk []int32 // by slot: its chunk, or none
	tried []bool  // by slot
}

// slot is one message of a link: its earliest start, after the messages before it, and its
// latest, for those after it to be in time.
type slot struct {
	hop            int32
	starts, latest float64
}

// match finds a slot for every chunk that v lacks, chunks of the nearest ranks first. It
// returns false if there is no such matching.
func (m *matching) match(n *hopGraph, v int, soonest []float64) bool {
	m.chunk = slices.Grow(m.chunk[:0], len(m.slots))[:len(m.slots)]
	for i := range m.chunk {
		m.chunk[i] = none
	}
	m.tried = slices.Grow(m.tried[:0], len(m.slots))[:len(m.slots)]
	order := make([]int, 0, n.ranks)
	for s := range n.ranks {
		if s != v {
			order = append(order, s)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(soonest[a*n.ranks+v], soonest[b*n.ranks+v])
	})
	var place func(c int32) bool
	place = func(c int32) bool {
		at := soonest[int(c)*n.ranks:][:n.ranks]
		for i, s := range m.slots {
			if m.tried[i] || at[n.hops[s.hop].From] > s.latest*(1+tolerance)+instant {
				continue
			}
			m.tried[i] = true
			if m.chunk[i] == none || place(m.chunk[i]) {
				m.chunk[i] = c
				return true
			}
		}
		return false
	}
	for _, s := range order {
		clear(m.tried)
		if !place(int32(s)) {
			return false
		}
	}
	return true
}
