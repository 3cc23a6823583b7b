package greedy

import (
	"cmp"
	"math"
	"slices"
)

// matched looks for a schedule that takes exactly the floor. Within that time,
// each link into a rank can carry a certain number of messages; and a chunk can't
// leave a neighbour before it could get there over otherwise unused links. Which
// message carries which chunk is a bipartite matching, for each rank by itself:
//
//	into rank 0 of a DGX-1     0 ────── τ ────── 2τ ───── 3τ = floor
//	from 1, a double link      │ 1      │ 2      │ 3      │
//	from 4, a double link      │ 4      │ 5      │ 7      │
//	from 2, a single link               │ 6               │   by then 2 has it from 6
//	from 3, a single link      │                          │
//
// So slow links wait for what fast ones cannot bring. The matchings of different
// ranks may contradict each other: the result is nil if one relies on a chunk that
// another does not deliver in time.
func (n *network) matched(chunks int, part, floor float64) []message {
	took, arrive := make([]float64, len(n.hops)), make([]float64, len(n.hops))
	var busy []float64
	for h := range n.hops {
		busy, arrive[h] = n.cost(int32(h), part, busy[:0])
		took[h] = busy[0]
	}
	soonest := n.soonest(arrive)
	m := &matching{}
	var list []planned
	for v := range n.ranks {
		n.look()
		m.slots = m.slots[:0]
		for _, h := range n.into[v] {
			count := min(math.Floor((floor-arrive[h])/took[h])+1, float64((n.ranks-1)*chunks))
			for k := range int(max(0, count)) {
				m.slots = append(m.slots, slot{hop: h, starts: float64(k) * took[h],
					latest: floor - arrive[h] - (count-1-float64(k))*took[h]})
			}
		}
		slices.SortStableFunc(m.slots, func(a, b slot) int { return cmp.Compare(a.starts+arrive[a.hop], b.starts+arrive[b.hop]) })
		if !m.match(n, v, chunks, soonest) {
			return nil
		}
		list = m.plan(list, n, chunks, took, soonest)
	}
	slices.SortStableFunc(list, func(a, b planned) int { return cmp.Compare(a.at, b.at) })
	return n.inTime(list, chunks, arrive)
}

// plan appends the messages into a rank. Messages of one link leave as early as
// they can, in the order in which they become able to, and each not before the one
// ahead of it is through. So none overtakes another, and each leaves within its
// slot.
func (m *matching) plan(list []planned, n *network, chunks int, took, soonest []float64) []planned {
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
		ready := func(c int32) float64 { return soonest[int(c)/chunks*n.ranks+int(n.hops[h].from)] }
		slots, waiting := byHop[h], make([]int32, 0, len(byHop[h]))
		for _, i := range slots {
			waiting = append(waiting, m.chunk[i])
		}
		slices.SortStableFunc(waiting, func(a, b int32) int { return cmp.Compare(ready(a), ready(b)) })
		free := 0.0
		for k, i := range slots {
			at := max(free, m.slots[i].starts, ready(waiting[k]))
			free = at + took[h]
			list = append(list, planned{at, h, waiting[k]})
		}
	}
	return list
}

// mixed reports whether some rank has incoming links of different speeds.
func (n *network) mixed() bool {
	for _, hops := range n.into {
		for _, h := range hops {
			if n.t.Edges[n.hops[h].edges[0]].Bandwidth != n.t.Edges[n.hops[hops[0]].edges[0]].Bandwidth {
				return true
			}
		}
	}
	return false
}

// planned is a message with the time at which it should leave.
type planned struct {
	at    float64
	hop   int32
	chunk int32
}

// inTime returns the messages without their times, or nil if some sender does not
// have the chunk by then.
func (n *network) inTime(list []planned, chunks int, arrive []float64) []message {
	total := n.ranks * chunks
	ready := make([]float64, n.ranks*total)
	for i := range ready {
		if rank, c := i/total, i%total; c/chunks != rank {
			ready[i] = math.Inf(1)
		}
	}
	messages, backing := make([]message, len(list)), make([]int32, len(list))
	for i, p := range list {
		hop := &n.hops[p.hop]
		if ready[int(hop.from)*total+int(p.chunk)] > p.at*(1+tolerance) {
			return nil
		}
		ready[int(hop.to)*total+int(p.chunk)] = p.at + arrive[p.hop]
		backing[i] = p.chunk
		messages[i] = message{hop: p.hop, chunks: backing[i : i+1 : i+1]}
	}
	return messages
}

// soonest is, by source and rank, the earliest that a chunk can arrive over
// otherwise unused links.
func (n *network) soonest(arrive []float64) []float64 {
	all := make([]float64, n.ranks*n.ranks)
	queue, waits := make([]int32, 0, n.ranks), make([]bool, n.ranks)
	for s := range n.ranks {
		n.look()
		at := all[s*n.ranks : (s+1)*n.ranks]
		for v := range at {
			at[v] = math.Inf(1)
		}
		at[s] = 0
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue); i++ {
			u := queue[i]
			waits[u] = false
			for _, h := range n.onto[u] {
				to := n.hops[h].to
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

// slot is one message of a link: when it starts if those before it are as early as
// possible, and when it has to start if those after it are to be in time.
type slot struct {
	hop            int32
	starts, latest float64
}

// match finds a slot for every chunk that v lacks, the nearest first. It returns
// false if there are not enough.
func (m *matching) match(n *network, v, chunks int, soonest []float64) bool {
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
		at := soonest[int(c)/chunks*n.ranks:][:n.ranks]
		for i, s := range m.slots {
			if m.tried[i] || at[n.hops[s.hop].from] > s.latest*(1+tolerance)+instant {
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
		for c := range chunks {
			clear(m.tried)
			if !place(int32(s*chunks + c)) {
				return false
			}
		}
	}
	return true
}
