package bounds

import "github.com/colltune/colltune/constraints/maxflow"

// flow finds maximum flows on a network. It adds two vertices: a source with an
// arc to every rank, and a sink with an arc from every rank. These arcs have
// capacity 0 until a query opens them.
type flow struct {
	net          *scaledNetwork
	g            *maxflow.Graph
	source, sink int
}

const unlimited = maxflow.Unlimited

func newFlow(net *scaledNetwork) *flow {
	n := net.Vertices
	f := &flow{net: net, g: maxflow.New(n + 2), source: n, sink: n + 1}
	for _, a := range net.Arcs {
		f.g.Arc(a.From, a.To, a.Capacity)
	}
	for r := range net.Ranks {
		f.g.Arc(f.source, r, 0)
	}
	for r := range net.Ranks {
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
	for i, a := range f.net.Arcs {
		f.g.SetCapacity(i, a.Capacity*scale)
	}
	for r := range f.net.Ranks {
		f.setSource(r, 0)
		f.setSink(r, 0)
	}
}

// setSource sets the capacity from the source to a rank, and setSink from a rank to the
// sink.
func (f *flow) setSource(rank int, capacity int64) { f.g.SetCapacity(len(f.net.Arcs)+rank, capacity) }
func (f *flow) setSink(rank int, capacity int64)   { f.g.SetCapacity(f.sinkArc(rank), capacity) }
func (f *flow) sinkArc(rank int) int               { return len(f.net.Arcs) + f.net.Ranks + rank }

// run returns the maximum flow between two vertices.
func (f *flow) run(from, to int) int64 { return f.g.MaxFlow(from, to, unlimited) }

// sourceSide lists the ranks on the source's side of the minimum cut of the last run,
// the one nearest to the source.
func (f *flow) sourceSide() []int {
	var ranks []int
	for r := range f.net.Ranks {
		if f.g.OnSourceSide(r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// capacityOut returns the capacity of the links that leave a rank.
func (n *scaledNetwork) capacityOut(rank int) (out int64) {
	for _, a := range n.Arcs {
		if a.From == rank {
			out += a.Capacity
		}
	}
	return out
}

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
