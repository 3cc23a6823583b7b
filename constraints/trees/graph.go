package trees

import (
	"context"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/topologies"
)

// system is a topology as a flow network. A packing of trees towards their roots is one
// of trees away from them on the reversed network.
type system struct {
	*network.Network
	node   []int               // by vertex; -1 for the fabric
	linked func(a, b int) bool // whether messages go between two ranks, in the network's direction
}

func newSystem(t *topologies.Topology, backward bool) *system {
	n := &system{Network: network.New(t), linked: t.Linked}
	for _, v := range n.Origin {
		n.node = append(n.node, t.Vertices[v].Node)
	}
	if backward {
		n.Network = n.Reversed()
		n.linked = func(a, b int) bool { return t.Linked(b, a) }
	}
	return n
}

// graph is the network with capacities in trees. Its links change as switches are
// removed.
type graph struct {
	*system
	links       []link
	number      map[[2]int]int // by two vertices: the link from one to the other
	demand      []int64        // by root: its trees
	total       int64          // trees of all roots
	separate    bool           // grow trees one by one, even if they are alike
	strict      bool           // leave out paths between ranks that messages do not take
	droppedPath bool           // such a path was left out
}

// link is all paths from one vertex to another.
type link struct {
	from, to int
	capacity int64
	shares   []pathShare
}

// pathShare is a path for count trees along edges of the topology.
type pathShare struct {
	edges []int
	count int64
}

// scaled returns the graph with each link's capacity in trees of y bytes a second each,
// at most the number of all trees.
func (n *system) scaled(y *big.Rat, wants []int64, k int) *graph {
	g := &graph{system: n, number: map[[2]int]int{}}
	for _, w := range wants {
		g.demand = append(g.demand, w*int64(k))
		g.total += w * int64(k)
	}
	trees := new(big.Int)
	for _, a := range n.Arcs {
		trees.Mul(big.NewInt(a.Capacity), y.Denom()).Quo(trees, y.Num())
		count := g.total
		if trees.IsInt64() {
			count = min(count, trees.Int64())
		}
		if count > 0 {
			g.add(a.From, a.To, []pathShare{{[]int{a.Edge}, count}})
		}
	}
	return g
}

// add widens the link from one vertex to another, creating it if necessary.
func (g *graph) add(from, to int, parts []pathShare) {
	at, ok := g.number[[2]int{from, to}]
	if !ok {
		at = len(g.links)
		g.number[[2]int{from, to}] = at
		g.links = append(g.links, link{from: from, to: to})
	}
	l := &g.links[at]
	for _, p := range parts {
		l.capacity += p.count
		l.shares = append(l.shares, p)
	}
}

// take narrows a link, and returns the parts taken from it.
func (g *graph) take(at int, count int64) (taken []pathShare) {
	l := &g.links[at]
	l.capacity -= count
	for count > 0 {
		p := &l.shares[0]
		if p.count > count {
			taken = append(taken, pathShare{p.edges, count})
			p.count -= count
			break
		}
		taken = append(taken, *p)
		count -= p.count
		l.shares = l.shares[1:]
	}
	return taken
}

// incident lists the links with capacity that enter and leave a vertex.
func (g *graph) incident(v int) (ins, outs []int) {
	for i, l := range g.links {
		switch {
		case l.capacity == 0:
		case l.to == v:
			ins = append(ins, i)
		case l.from == v:
			outs = append(outs, i)
		}
	}
	byEnd := func(end func(l link) int) func(a, b int) int {
		return func(a, b int) int { return end(g.links[a]) - end(g.links[b]) }
	}
	slices.SortFunc(ins, byEnd(func(l link) int { return l.from }))
	slices.SortFunc(outs, byEnd(func(l link) int { return l.to }))
	return ins, outs
}

// feasibility decides whether the trees still fit into a graph. By Edmonds' theorem they
// do if the maximum flow to every rank is the number of all trees, from a source that
// supplies demand[r] trees to each rank r.
type feasibility struct {
	ctx   context.Context
	g     *graph
	flow  *maxflow.Graph
	arcs  map[[2]int]int
	order []int // ranks; the one that failed last comes first
}

func newFeasibility(ctx context.Context, g *graph) *feasibility {
	j := &feasibility{ctx: ctx, g: g, flow: maxflow.New(g.Vertices + 1), arcs: map[[2]int]int{}}
	for r, w := range g.demand {
		j.flow.Arc(g.Vertices, r, w)
		j.order = append(j.order, r)
	}
	for _, l := range g.links {
		j.arcs[[2]int{l.from, l.to}] = j.flow.Arc(l.from, l.to, l.capacity)
	}
	return j
}

// allow adds a link from one vertex to another, without capacity.
func (j *feasibility) allow(from, to int) {
	if at := [2]int{from, to}; from != to {
		if _, ok := j.arcs[at]; !ok {
			j.arcs[at] = j.flow.Arc(from, to, 0)
		}
	}
}

// addCapacity changes the capacity of a link. A link from a vertex to itself is ignored.
func (j *feasibility) addCapacity(from, to int, by int64) {
	if from != to {
		a := j.arcs[[2]int{from, to}]
		j.flow.SetCapacity(a, j.flow.Capacity(a)+by)
	}
}

// missing returns how many trees the worst rank lacks. It stops once that reaches enough.
// If the context has ended, it returns enough, so that nothing seems to fit.
func (j *feasibility) missing(enough int64) (short int64) {
	for i, v := range j.order {
		if j.ctx.Err() != nil {
			return enough
		}
		miss := j.g.total - j.flow.MaxFlow(j.g.Vertices, v, j.g.total)
		if miss <= short {
			continue
		}
		short = miss
		copy(j.order[1:i+1], j.order[:i])
		j.order[0] = v
		if short >= enough {
			break
		}
	}
	return short
}
