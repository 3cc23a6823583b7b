package greedy

import "slices"

// improver is a local search on a schedule of few messages. A step moves a message to
// another link or to another position in the order. Messages are played in their order, as
// hopGraph.play does, but a message whose chunk has not arrived waits for it. A step is kept
// if the schedule does not get longer and, at equal length, the ranks do not finish later on
// average.
type improver struct {
	*hopGraph
	list    []message // one chunk each
	free    []float64
	ready   []float64 // by rank and chunk; negative if not yet known
	waiting [][]int32 // by rank and chunk: messages that wait for it
	finish  []float64 // by rank
	busy    []float64 // how long each hop takes its edges
	delay   []float64 // by hop
	first   []int32   // by hop: its first entry in took
	played  int
}

// maxImprovedMessages is the largest schedule that is improved. maxImproveWork limits
// messages × steps for each try.
const (
	maxImprovedMessages = 2048
	maxImproveWork      = 1 << 17
)

func newImprover(n *hopGraph, part float64, sends []Send) *improver {
	m := &improver{hopGraph: n, list: n.messages(sends),
		free: make([]float64, len(n.t.Edges)), ready: make([]float64, n.ranks*n.ranks),
		waiting: make([][]int32, n.ranks*n.ranks), finish: make([]float64, n.ranks)}
	for h := range n.hops {
		m.first = append(m.first, int32(len(m.busy)))
		var arrive float64
		m.busy, arrive = n.cost(int32(h), part, m.busy)
		m.delay = append(m.delay, arrive)
	}
	return m
}

// length returns the time of the schedule, and the sum of the times at which ranks finish.
func (m *improver) length() (end, sum float64) {
	clear(m.free)
	clear(m.finish)
	for i := range m.ready {
		m.ready[i] = -1
		m.waiting[i] = m.waiting[i][:0]
	}
	for c := range m.ranks {
		m.ready[c*m.ranks+c] = 0
	}
	m.played = 0
	for i := range m.list {
		m.playMessage(int32(i))
	}
	for _, f := range m.finish {
		end = max(end, f)
		sum += f
	}
	return end, sum
}

// playMessage plays a message, and those that have waited for it.
func (m *improver) playMessage(i int32) {
	msg := m.list[i]
	hop := &m.hops[msg.hop]
	c := int(msg.chunks[0])
	from := int(hop.From)*m.ranks + c
	start := m.ready[from]
	if start < 0 {
		m.waiting[from] = append(m.waiting[from], i)
		return
	}
	for _, e := range hop.Edges {
		start = max(start, m.free[e])
	}
	for j, e := range hop.Edges {
		m.free[e] = start + m.busy[int(m.first[msg.hop])+j]
	}
	at := start + m.delay[msg.hop]
	to := int(hop.To)*m.ranks + c
	m.ready[to] = at
	m.finish[hop.To] = max(m.finish[hop.To], at)
	m.played++
	for _, w := range m.waiting[to] {
		m.playMessage(w)
	}
}

// improve improves a schedule until the steps are used up, the context ends, or the schedule
// is as short as floor.
func (n *hopGraph) improve(part float64, sends []Send, floor float64, tries int) ([]Send, float64) {
	m := newImprover(n, part, sends)
	end, sum := m.length()
	for step := range maxImproveWork * tries / max(1, len(m.list)) {
		if end <= floor || n.ctx.Err() != nil {
			break
		}
		dice := hash(0, uint64(step), 1)
		i := int(dice % uint64(len(m.list)))
		dice = hash(0, uint64(step), 2)
		old := m.list[i]
		to := i
		if dice&1 == 0 { // another link
			hops := n.in[n.hops[old.hop].To]
			m.list[i].hop = hops[dice>>8%uint64(len(hops))]
		}
		if dice&6 != 0 { // another position
			to = int(dice >> 32 % uint64(len(m.list)))
			move(m.list, i, to)
		}
		newEnd, newSum := m.length()
		if m.played == len(m.list) && newEnd <= end && (newEnd < end || newSum <= sum) {
			end, sum = newEnd, newSum
			continue
		}
		move(m.list, to, i)
		m.list[i] = old
	}
	// In the order of their arrivals no message has to wait.
	m.length()
	slices.SortStableFunc(m.list, func(a, b message) int {
		x, y := m.arrived(a), m.arrived(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return n.play(m.list, part)
}

func (m *improver) arrived(msg message) float64 {
	return m.ready[int(m.hops[msg.hop].To)*m.ranks+int(msg.chunks[0])]
}

func move(list []message, i, j int) {
	x := list[i]
	if i < j {
		copy(list[i:j], list[i+1:j+1])
	} else {
		copy(list[j+1:i+1], list[j:i])
	}
	list[j] = x
}
