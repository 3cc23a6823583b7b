package trees

import (
	"math/big"

	"github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/topologies"
)

// stepProblem is a topology as a graph of steps from rank to rank, each along the
// topology's path between them.
type stepProblem struct {
	t     *topologies.Topology
	n     int
	root  int
	count int
	down  bool
	up    bool
	steps []*step // from parent a to child b at a*n+b; nil if there is none
}

// step is the edges of the paths from parent to child (down) and back (up), for the
// directions in which data flow.
type step struct{ edges [2][]int }

// Directions of data along a tree.
const (
	downward = iota
	upward
)

func newStepProblem(t *topologies.Topology, o DisjointOptions) *stepProblem {
	p := &stepProblem{t: t, n: len(t.Ranks), root: o.Root, count: o.Count, down: o.Down, up: o.Up}
	p.steps = make([]*step, p.n*p.n)
	for a := range p.n {
		for b := range p.n {
			there, ok := t.Path(a, b)
			back, also := t.Path(b, a)
			if p.down && !ok || p.up && !also || a == b {
				continue
			}
			s := &step{}
			if p.down {
				s.edges[downward] = there.Edges
			}
			if p.up {
				s.edges[upward] = back.Edges
			}
			p.steps[a*p.n+b] = s
		}
	}
	return p
}

func (p *stepProblem) step(parent, child int) *step { return p.steps[parent*p.n+child] }

// linkCount returns how many trees can use a step without sharing a link: as many as it
// has physical links if it is direct, and any number through switches and NICs.
func (p *stepProblem) linkCount(s *step) int {
	room := p.count
	for _, edges := range s.edges {
		if len(edges) == 1 {
			room = min(room, p.t.Edges[edges[0]].Count)
		}
	}
	return room
}

// direct reports whether an edge joins two ranks.
func (p *stepProblem) direct(e int) bool {
	return p.t.Edges[e].From < p.n && p.t.Edges[e].To < p.n
}

// load is how often trees use each edge, by direction of data.
type load [2]map[int]int

func newLoad() load { return load{{}, {}} }

func (l load) add(s *step, by int) {
	for way, edges := range s.edges {
		for _, e := range edges {
			l[way][e] += by
		}
	}
}

func (p *stepProblem) loadOf(trees [][]int) load {
	l := newLoad()
	for _, parents := range trees {
		for child, parent := range parents {
			if parent >= 0 {
				l.add(p.step(parent, child), 1)
			}
		}
	}
	return l
}

// disjoint reports whether trees consist of existing steps and share no link.
func (p *stepProblem) disjoint(trees [][]int) bool {
	for _, parents := range trees {
		for child, parent := range parents {
			if parent >= 0 && p.step(parent, child) == nil {
				return false
			}
		}
	}
	for _, of := range p.loadOf(trees) {
		for e, n := range of {
			if p.direct(e) && n > p.t.Edges[e].Count {
				return false
			}
		}
	}
	return true
}

// width returns what each of the trees can carry if all are used at once, in bytes a
// second.
func (p *stepProblem) width(trees [][]int) (least *big.Rat) {
	for _, of := range p.loadOf(trees) {
		for e, n := range of {
			if w := big.NewRat(int64(p.t.Edges[e].Bandwidth), int64(max(1, n))); least == nil || w.Cmp(least) < 0 {
				least = w
			}
		}
	}
	return least
}

// maxUses returns how often trees of a width can use an edge without sharing a link.
func (p *stepProblem) maxUses(e int, width *big.Rat) int {
	room := new(big.Int).Mul(big.NewInt(int64(p.t.Edges[e].Bandwidth)), width.Denom())
	n := p.count * p.n
	if room.Quo(room, width.Num()); room.IsInt64() {
		n = int(min(int64(n), room.Int64()))
	}
	if p.direct(e) {
		n = min(n, p.t.Edges[e].Count)
	}
	return n
}

// stepGraph returns a graph with a link for each step, whose capacity is linkCount.
func (p *stepProblem) stepGraph() *graph {
	g := p.newGraph(&system{Network: &network.Network{Ranks: p.n, Vertices: p.n}})
	for a := range p.n {
		for b := range p.n {
			if s := p.step(a, b); s != nil {
				g.add(a, b, []pathShare{{nil, int64(p.linkCount(s))}})
			}
		}
	}
	return g
}

// newGraph returns a graph for the trees, still without links.
func (p *stepProblem) newGraph(net *system) *graph {
	g := &graph{system: net, number: map[[2]int]int{}, demand: make([]int64, p.n), total: int64(p.count)}
	g.demand[p.root] = int64(p.count)
	return g
}

// network returns the topology's edges that steps use, directed away from the root. If
// data flow both ways, an edge has the smaller bandwidth of the two directions.
func (p *stepProblem) network() *system {
	net := newSystem(p.t, !p.down)
	taken := [2]map[int]bool{{}, {}}
	back := map[[2]int]int{} // by two vertices: the edge that steps take up from one to the other
	for _, s := range p.steps {
		if s == nil {
			continue
		}
		for way, edges := range s.edges {
			for _, e := range edges {
				taken[way][e] = true
				if way == upward {
					back[[2]int{p.t.Edges[e].From, p.t.Edges[e].To}] = e
				}
			}
		}
	}
	main := downward
	if !p.down {
		main = upward
	}
	kept := net.Arcs[:0]
	for _, a := range net.Arcs {
		if !taken[main][a.Edge] {
			continue
		}
		if p.down && p.up {
			e, ok := back[[2]int{p.t.Edges[a.Edge].To, p.t.Edges[a.Edge].From}]
			if !ok {
				continue
			}
			a.Capacity = min(a.Capacity, int64(p.t.Edges[e].Bandwidth))
		}
		kept = append(kept, a)
	}
	net.Arcs = kept
	return net
}

// graph returns the network with each edge's capacity in trees of a width that share no
// link.
func (p *stepProblem) graph(net *system, width *big.Rat) *graph {
	g := p.newGraph(net)
	room := new(big.Int)
	for _, a := range net.Arcs {
		count := int64(p.count)
		room.Mul(big.NewInt(a.Capacity), width.Denom()).Quo(room, width.Num())
		if room.IsInt64() {
			count = min(count, room.Int64())
		}
		if p.direct(a.Edge) {
			count = min(count, int64(p.linkCount(p.step(a.From, a.To))))
		}
		if count > 0 {
			g.add(a.From, a.To, []pathShare{{[]int{a.Edge}, count}})
		}
	}
	return g
}
