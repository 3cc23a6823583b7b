package bounds

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/constraints/symmetry"
)

// orbits groups the ranks and links that are interchangeable, considering the
// system and who sends to whom. Some optimal flow treats all members of an orbit
// alike, so one of each stands for all.
type orbits struct {
	sources []int   // one rank of each orbit of ranks
	times   []int64 // by orbit of ranks: its size
	link    []int   // by arc: its orbit
	links   []int64 // by orbit of arcs: its size
}

const (
	// symmetricRanks is the largest system whose symmetries are looked for, and
	// pairedRanks that where not everybody sends to everybody; fewRanks that of which
	// all are looked for where nodes are alike, and searchedRanks that where a ring's
	// are not tried first.
	symmetricRanks = 8192
	searchedRanks  = 2048
	pairedRanks    = 256
	fewRanks       = 64
	// symmetryWork limits the work on that to some hundredths of a second.
	symmetryWork = 100_000_000
)

// orbits finds the orbits. In systems that are too large, each rank and link is an
// orbit by itself.
func (p *problem) orbits(d pairs) orbits {
	switch {
	case !d.every && p.n <= pairedRanks:
		return p.orbitsUnder(p.automorphisms(p.graph(d)))
	case !d.every:
		return p.orbitsUnder(nil)
	case p.everyone == nil:
		o := p.orbitsUnder(p.renamings())
		p.everyone = &o
	}
	return *p.everyone
}

// renamings generate those of a system in which everybody sends to everybody.
func (p *problem) renamings() [][]int {
	if any := p.ranksAlike(); any != nil {
		return any
	}
	if p.alike && p.n > fewRanks {
		return p.nodesAlike()
	}
	if p.n > searchedRanks {
		if any := p.ranksTurn(); any != nil || p.n > symmetricRanks {
			return any
		}
	}
	return p.automorphisms(p.graph(everyPair))
}

// automorphisms returns generators of a graph's automorphisms, as far as they are
// found.
func (p *problem) automorphisms(g *symmetry.Graph) [][]int {
	generators := symmetry.Find(p.ctx, g, symmetryWork).Generators
	p.look()
	return generators
}

// orbitsUnder returns the orbits of some symmetries.
func (p *problem) orbitsUnder(generators [][]int) (o orbits) {
	net := p.forward
	size := make([]int64, net.vertices)
	whose := symmetry.Orbits(net.vertices, generators)
	for r := range p.n {
		size[whose[r]]++
	}
	for r := range p.n {
		if whose[r] == r {
			o.sources, o.times = append(o.sources, r), append(o.times, size[r])
		}
	}
	var arcs [][]int
	for _, image := range generators {
		arcs = append(arcs, net.renamed(image))
	}
	number := map[int]int{}
	for e, first := range symmetry.Orbits(len(net.arcs), arcs) {
		if first == e {
			number[e] = len(o.links)
			o.links = append(o.links, 0)
		}
		o.link = append(o.link, number[first])
		o.links[number[first]]++
	}
	return o
}

// ranksAlike returns symmetries that generate all permutations of the ranks, if
// the system allows them, as around a hub or with a link between every two ranks:
// exchanging the first two, and moving all on by one. Otherwise it returns nil.
func (p *problem) ranksAlike() (generators [][]int) {
	if p.tried {
		return p.anyone
	}
	p.tried = true
	swapped := rising(p.forward.vertices)
	swapped[0], swapped[1] = 1, 0
	if turned := p.turn(); p.forward.keptBy(swapped) && p.forward.keptBy(turned) {
		p.anyone = [][]int{swapped, turned}
	}
	return p.anyone
}

// ranksTurn are symmetries of a system whose ranks may all go one further on, as in a
// ring, and the other way round where that changes nothing. Nil of other systems.
func (p *problem) ranksTurn() (generators [][]int) {
	turned, mirrored := p.turn(), rising(p.forward.vertices)
	if !p.forward.keptBy(turned) {
		return nil
	}
	for r := range p.n {
		mirrored[r] = p.n - 1 - r
	}
	if p.forward.keptBy(mirrored) {
		return [][]int{turned, mirrored}
	}
	return [][]int{turned}
}

func (p *problem) turn() []int {
	turned := rising(p.forward.vertices)
	for r := range p.n {
		turned[r] = (r + 1) % p.n
	}
	return turned
}

// nodesAlike returns symmetries of a system whose nodes are interchangeable, if
// all ranks send to all others: exchanging the first two nodes, moving all nodes
// on by one, and the symmetries of one node, applied to all nodes at once.
func (p *problem) nodesAlike() (generators [][]int) {
	net, nodes := p.forward, p.t.Nodes
	inside := make([][]int, nodes) // by node: its vertices, corresponding ones at the same index
	var fabric []int
	for v, of := range net.of {
		if node := p.t.Vertices[of].Node; node >= 0 {
			inside[node] = append(inside[node], v)
		} else {
			fabric = append(fabric, v)
		}
	}
	moved := func(to func(node int) int) []int {
		image := rising(net.vertices)
		for node, vertices := range inside {
			for i, v := range vertices {
				image[v] = inside[to(node)][i]
			}
		}
		return image
	}
	generators = append(generators,
		moved(func(node int) int {
			if node < 2 {
				return 1 - node
			}
			return node
		}),
		moved(func(node int) int { return (node + 1) % nodes }))
	// A node and the fabric on their own.
	one := append(slices.Clone(inside[0]), fabric...)
	at := make(map[int]int, len(one))
	colours := make([]int, len(one))
	for i, v := range one {
		at[v], colours[i] = i, p.colour(v)
	}
	g := symmetry.NewGraph(colours)
	for _, a := range net.arcs {
		from, in := at[int(a.from)]
		to, out := at[int(a.to)]
		if in && out {
			g.Arc(from, to, int(a.capacity))
		}
	}
	for _, within := range p.automorphisms(g) {
		image := make([]int, net.vertices)
		for _, vertices := range inside {
			for i, v := range vertices {
				image[v] = vertices[within[i]]
			}
		}
		for i, v := range fabric {
			image[v] = one[within[len(inside[0])+i]]
		}
		generators = append(generators, image)
	}
	return generators
}

// colour classifies a vertex; only vertices of one colour can be interchangeable.
func (p *problem) colour(v int) int {
	switch {
	case v < p.n:
		return 0
	case v < len(p.t.Vertices):
		return 1 + int(p.t.Vertices[v].Kind)
	}
	return -1 // the second half of a NIC
}

// graph is the system with who sends to whom, where links are coloured by their
// capacity and vertices by their kind.
func (p *problem) graph(d pairs) *symmetry.Graph {
	net := p.forward
	colours := make([]int, net.vertices)
	for v := range colours {
		colours[v] = p.colour(v)
	}
	g := symmetry.NewGraph(colours)
	for _, a := range net.arcs {
		g.Arc(int(a.from), int(a.to), int(a.capacity))
	}
	if !d.every {
		for r := range p.n {
			d.to(p.n, r, func(to int, parts int64) { g.Arc(r, to, -int(parts)) })
		}
	}
	return g
}

// keptBy reports whether renaming the vertices leaves the set of arcs unchanged.
func (n *network) keptBy(image []int) bool {
	was, is := make([]arc, len(n.arcs)), slices.Clone(n.arcs)
	for e, a := range n.arcs {
		was[e] = a
		was[e].from, was[e].to = int32(image[a.from]), int32(image[a.to])
	}
	for _, arcs := range [][]arc{was, is} {
		slices.SortFunc(arcs, func(a, b arc) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.capacity, b.capacity))
		})
	}
	return slices.EqualFunc(was, is, func(a, b arc) bool { return a.from == b.from && a.to == b.to && a.capacity == b.capacity })
}

// renamed maps the arcs under a renaming of the vertices. Of equal parallel arcs,
// the first is mapped to the first.
func (n *network) renamed(image []int) []int {
	order := func(from, to func(arc) int) []int {
		all := rising(len(n.arcs))
		slices.SortStableFunc(all, func(i, j int) int {
			a, b := n.arcs[i], n.arcs[j]
			return cmp.Or(cmp.Compare(from(a), from(b)), cmp.Compare(to(a), to(b)), cmp.Compare(a.capacity, b.capacity))
		})
		return all
	}
	was := order(func(a arc) int { return image[a.from] }, func(a arc) int { return image[a.to] })
	is := order(func(a arc) int { return int(a.from) }, func(a arc) int { return int(a.to) })
	becomes := make([]int, len(n.arcs))
	for i, e := range was {
		becomes[e] = is[i]
	}
	return becomes
}
