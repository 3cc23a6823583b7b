package synth

import (
	"slices"

	"github.com/colltune/colltune/constraints/maxflow"
)

// unrolled is the time-expanded network over the steps. It has a copy of every rank before
// the first step and after each step, with arcs for chunks that stay at a rank, and a copy
// of the vertices between ranks for each step.
//
//	before      step 1       after      step 2
//	rank 0 ──────────────▶ rank 0 ──────────────▶ …    keeps: any number
//	   └───▶ switch ───▶ rank 1 ───▶ switch ───▶ …     links: capacity × rounds
type unrolled struct {
	net    *network
	steps  int
	g      *maxflow.Graph
	inner  int     // vertices other than ranks
	links  [][]int // arcs, by step and link
	feed   []int   // arcs from the source to every rank before the first step
	drain  []int   // arcs from every rank after the last step to the sink
	source int
	sink   int
}

func (n *network) unroll(steps int) *unrolled {
	u := &unrolled{net: n, steps: steps, inner: n.vertices - n.ranks}
	ranks := n.ranks * (steps + 1)
	u.source = ranks + u.inner*steps
	u.sink = u.source + 1
	u.g = maxflow.New(u.sink + 1)
	for s := range steps {
		arcs := make([]int, len(n.links))
		for i, l := range n.links {
			arcs[i] = u.g.Arc(u.vertex(l.from, s, s), u.vertex(l.to, s, s+1), 0)
		}
		u.links = append(u.links, arcs)
		for r := range n.ranks {
			u.g.Arc(u.rank(r, s), u.rank(r, s+1), maxflow.Unlimited>>8)
		}
	}
	for r := range n.ranks {
		u.feed = append(u.feed, u.g.Arc(u.source, u.rank(r, 0), 0))
		u.drain = append(u.drain, u.g.Arc(u.rank(r, steps), u.sink, 0))
	}
	return u
}

// rank returns the copy of a rank after a number of steps.
func (u *unrolled) rank(r, after int) int { return after*u.net.ranks + r }

// vertex returns the copy of a rank after a number of steps, or of a vertex between ranks
// within a step.
func (u *unrolled) vertex(v int32, step, after int) int {
	if int(v) < u.net.ranks {
		return u.rank(int(v), after)
	}
	return u.net.ranks*(u.steps+1) + step*u.inner + int(v) - u.net.ranks
}

// setRounds sets the capacities of the links for rounds[s] rounds in step s.
func (u *unrolled) setRounds(rounds []int) {
	for s, arcs := range u.links {
		for i, a := range arcs {
			u.g.SetCapacity(a, int64(u.net.links[i].capacity)*int64(rounds[s]))
		}
	}
}

// demand is a single-commodity flow that every routing contains: a number of chunks that
// must get from some ranks to some ranks, whichever goes where.
type demand struct {
	from []int64 // by rank
	into []int64 // by rank, at most; the whole of from must arrive
	need int64
	set  []int // the ranks to name in the proof
	kind demandKind
}

type demandKind uint8

const (
	intoRank demandKind = iota // everything that one rank wants
	outOf                      // everything that one rank has and others want
	intoSet                    // everything that some rank of a set wants, once
	fromTo                     // one rank's contribution to everything that another wants
)

// feasible reports whether there is a flow that meets the demand.
func (u *unrolled) feasible(d *demand) bool {
	for r := range u.net.ranks {
		u.g.SetCapacity(u.feed[r], d.from[r])
		u.g.SetCapacity(u.drain[r], d.into[r])
	}
	return u.g.MaxFlow(u.source, u.sink, d.need) == d.need
}

// pathArc is an arc of the last flow with chunks left on it.
type pathArc struct {
	to    int
	link  int32 // -1 if a rank keeps the chunks
	step  int
	count int64
}

// paths decomposes the last flow into paths of single chunks, and yields each with its
// source and destination. ok is false if a path between ranks is not a lane.
func (u *unrolled) paths(yield func(source, dest int, hops []hop)) (ok bool) {
	ways := make([][]pathArc, u.sink+1)
	n := u.net
	arc := 0
	for s := range u.steps {
		for i, l := range n.links {
			if f := u.g.Flow(u.links[s][i]); f > 0 {
				v := u.vertex(l.from, s, s)
				ways[v] = append(ways[v], pathArc{u.vertex(l.to, s, s+1), int32(i), s, f})
			}
		}
		arc += len(n.links)
		for r := range n.ranks {
			if f := u.g.Flow(arc); f > 0 {
				v := u.rank(r, s)
				ways[v] = append(ways[v], pathArc{u.rank(r, s+1), -1, s, f})
			}
			arc++
		}
	}
	end := u.rank(0, u.steps)
	for r := range n.ranks {
		for range u.g.Flow(u.feed[r]) {
			var hops []hop
			var passed []int32
			at, last := u.rank(r, 0), r
			for at < end || at >= end+n.ranks {
				w := &ways[at]
				c := &(*w)[len(*w)-1]
				next := *c
				if c.count--; c.count == 0 {
					*w = (*w)[:len(*w)-1]
				}
				if at = next.to; next.link < 0 {
					continue
				}
				passed = append(passed, next.link)
				if at < n.ranks*(u.steps+1) {
					to := at % n.ranks
					l := n.lane(last, to)
					if l < 0 || !slices.Equal(n.lanes[l].links, passed) {
						return false
					}
					hops = append(hops, hop{l, next.step})
					last, passed = to, passed[:0]
				}
			}
			yield(r, last, hops)
		}
	}
	return true
}

// flowRouting answers, without a solver, a query in which all chunks have the same source or
// the same destination: then the flow is a routing.
func (p *problem) flowRouting(open [][]int) (Schedule, bool) {
	if len(open) == 0 || !p.singleDestination() {
		return nil, false
	}
	source, dest := -1, -1 // -2: several
	waiting := map[[2]int][]int{}
	d := demand{from: make([]int64, p.net.ranks), into: make([]int64, p.net.ranks)}
	for x := range p.items {
		it := &p.items[x]
		for _, r := range it.destinations() {
			if source = commonValue(source, it.source); dest == -2 {
				dest = -2
			} else {
				dest = commonValue(dest, r)
			}
			waiting[[2]int{it.source, r}] = append(waiting[[2]int{it.source, r}], x)
			d.from[it.source]++
			d.into[r]++
			d.need++
		}
	}
	if source == -2 && dest == -2 {
		return nil, false
	}
	u := p.net.unroll(p.Steps)
	u.setRounds(open[0])
	if !u.feasible(&d) {
		return nil, false
	}
	s := make(Schedule, p.Steps)
	for t, n := range open[0] {
		s[t].Rounds = n
	}
	ok := u.paths(func(from, to int, hops []hop) {
		k := [2]int{from, to}
		x := waiting[k][0]
		waiting[k] = waiting[k][1:]
		for _, h := range hops {
			l := p.net.lanes[h.lane]
			s[h.step].Sends = append(s[h.step].Sends, Send{Item: x, From: int(l.from), To: int(l.to)})
		}
	})
	return p.prune(s), ok
}

// commonValue returns the common value of all seen so far: was is -1 before the first
// value, and -2 after different ones.
func commonValue(was, now int) int {
	if was == -1 || was == now {
		return now
	}
	return -2
}

// singleStep returns the network of one step in which chunks can pass through ranks. A bound
// on it holds for any number of steps.
func (n *network) singleStep() *unrolled {
	u := n.unroll(1)
	for r := range n.ranks {
		u.g.Arc(u.rank(r, 1), u.rank(r, 0), maxflow.Unlimited>>8)
	}
	return u
}
