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
	f.g.LimitWork(mostWork)
	return f
}

// mostWork is how many arcs the flows of one row may look at: seconds. A variable for
// the tests.
var mostWork int64 = 1 << 31

// spent reports whether the row has to end with what is known: the last flow may not be
// the largest.
func (f *flow) spent() bool { return f.g.LimitReached() }

// reset multiplies the network's capacities by scale, and closes source and sink.
func (f *flow) reset(scale int64) {
	for i, a := range f.net.arcs {
		f.g.SetCapacity(i, a.capacity*scale)
	}
	for r := range f.net.ranks {
		f.from(r, 0)
		f.into(r, 0)
	}
}

// from opens the arc from the source to a rank, and into the arc from a rank to
// the sink.
func (f *flow) from(rank int, capacity int64) { f.g.SetCapacity(len(f.net.arcs)+rank, capacity) }
func (f *flow) into(rank int, capacity int64) { f.g.SetCapacity(f.intoArc(rank), capacity) }
func (f *flow) intoArc(rank int) int          { return len(f.net.arcs) + f.net.ranks + rank }

// run is the maximum flow between two vertices.
func (f *flow) run(from, to int) int64 { return f.g.MaxFlow(from, to, unlimited) }

// side lists the ranks that the start of the last run can still reach: the
// smallest side of a minimum cut.
func (f *flow) side() []int {
	var ranks []int
	for r := range f.net.ranks {
		if f.g.OnSourceSide(r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// alone is what can leave a rank over its own links.
func (n *network) alone(rank int) (out int64) {
	for _, a := range n.arcs {
		if int(a.from) == rank {
			out += a.capacity
		}
	}
	return out
}

// between is the maximum flow from one rank to another.
func (f *flow) between(a, b int) int64 {
	f.reset(1)
	return f.run(a, b)
}

// leaving is what can leave a set of ranks for the others: the minimum cut between
// them, wherever the switches end up.
func (f *flow) leaving(inside []bool) int64 {
	f.reset(1)
	for r, in := range inside {
		if in {
			f.from(r, unlimited>>1)
		} else {
			f.into(r, unlimited>>1)
		}
	}
	return f.run(f.source, f.sink)
}
