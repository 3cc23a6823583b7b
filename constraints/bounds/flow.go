package bounds

import "github.com/colltune/colltune/constraints/maxflow"

// flow finds maximum flows on a network. It adds two vertices: a source with an
// arc to every rank, and a sink with an arc from every rank. These arcs have
// capacity 0 until a query opens them.
type flow struct {
	net          *network
	g            *maxflow.Graph
	source, sink int
}

const unlimited = maxflow.Unlimited

func newFlow(net *network) *flow {
	n := net.vertices
	f := &flow{net: net, g: maxflow.New(n + 2), source: n, sink: n + 1}
	for _, a := range net.arcs {
		f.g.Arc(int(a.from), int(a.to), a.capacity)
	}
	for r := range net.ranks {
		f.g.Arc(f.source, r, 0)
	}
	for r := range net.ranks {
		f.g.Arc(r, f.sink, 0)
	}
	f.g.LimitWork(maxWork)
	return f
}

// maxWork is the number of arcs that the flows of one kind of bound may examine, which
// takes seconds. It is a variable for tests.
var maxWork int64 = 1 << 31

// limitReached reports whether the work limit was met, so that the last flow may not be
// the maximum.
func (f *flow) limitReached() bool { return f.g.LimitReached() }

// reset multiplies the network's capacities by scale, and closes source and sink.
func (f *flow) reset(scale int64) {
	for i, a := range f.net.arcs {
		f.g.SetCapacity(i, a.capacity*scale)
	}
	for r := range f.net.ranks {
		f.setSource(r, 0)
		f.setSink(r, 0)
	}
}

// setSource sets the capacity from the source to a rank, and setSink from a rank to the
// sink.
func (f *flow) setSource(rank int, capacity int64) { f.g.SetCapacity(len(f.net.arcs)+rank, capacity) }
func (f *flow) setSink(rank int, capacity int64)   { f.g.SetCapacity(f.sinkArc(rank), capacity) }
func (f *flow) sinkArc(rank int) int               { return len(f.net.arcs) + f.net.ranks + rank }

// run returns the maximum flow between two vertices.
func (f *flow) run(from, to int) int64 { return f.g.MaxFlow(from, to, unlimited) }

// sourceSide lists the ranks on the source's side of the minimum cut of the last run,
// the one nearest to the source.
func (f *flow) sourceSide() []int {
	var ranks []int
	for r := range f.net.ranks {
		if f.g.OnSourceSide(r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// capacityOut returns the capacity of the links that leave a rank.
func (n *network) capacityOut(rank int) (out int64) {
	for _, a := range n.arcs {
		if int(a.from) == rank {
			out += a.capacity
		}
	}
	return out
}

// maxFlow returns the maximum flow from one rank to another.
func (f *flow) maxFlow(a, b int) int64 {
	f.reset(1)
	return f.run(a, b)
}

// capacityOut returns the minimum cut between a set of ranks and the others, with each
// switch on either side.
func (f *flow) capacityOut(inside []bool) int64 {
	f.reset(1)
	for r, in := range inside {
		if in {
			f.setSource(r, unlimited>>1)
		} else {
			f.setSink(r, unlimited>>1)
		}
	}
	return f.run(f.source, f.sink)
}
