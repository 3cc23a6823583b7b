package bounds

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/constraints/symmetry"
	"github.com/colltune/colltune/internal/lists"
)

// orbits groups the ranks and links that automorphisms of the system and of the demand
// map to each other. Some optimal flow is invariant under these, so that one member of
// each orbit stands for all.
type orbits struct {
	sources []int   // one rank of each orbit of ranks
	times   []int64 // by orbit of ranks: its size
	link    []int   // by arc: its orbit
	links   []int64 // by orbit of arcs: its size
}

const (
	// maxSymmetricRanks is the largest system, in ranks, whose automorphisms are
	// looked for, and maxPairedRanks if not all ranks send to all others. Up to
	// maxSmallRanks all automorphisms are looked for even if nodes are
	// interchangeable. Above maxSearchedRanks rotations are tried first.
	maxSymmetricRanks = 8192
	maxSearchedRanks  = 2048
	maxPairedRanks    = 256
	maxSmallRanks     = 64
	// symmetryWork limits the search to a second at most.
	symmetryWork = 100_000_000
)

// orbits finds the orbits for a demand. If the system is too large, each rank and link
// is an orbit by itself.
func (p *problem) orbits(d demand) orbits {
	switch {
	case !d.every && p.n <= maxPairedRanks:
		return p.orbitsUnder(p.automorphisms(p.graph(d)))
	case !d.every:
		return p.orbitsUnder(nil)
	case p.allPairOrbits == nil:
		o := p.orbitsUnder(p.generators())
		p.allPairOrbits = &o
	}
	return *p.allPairOrbits
}

// generators returns generators of automorphisms of the system, for a demand in which
// all ranks send to all others.
func (p *problem) generators() [][]int {
	if any := p.allPermutations(); any != nil {
		return any
	}
	if p.nodesInterchangeable && p.n > maxSmallRanks {
		return p.nodePermutations()
	}
	if p.n > maxSearchedRanks {
		if any := p.rotations(); any != nil || p.n > maxSymmetricRanks {
			return any
		}
	}
	return p.automorphisms(p.graph(allPairs))
}

// automorphisms returns generators of a graph's automorphisms, or of a subgroup if the
// work limit is met.
func (p *problem) automorphisms(g *symmetry.Graph) [][]int {
	return symmetry.Find(p.ctx, g, symmetryWork).Generators
}

// orbitsUnder returns the orbits of the group that the automorphisms generate.
func (p *problem) orbitsUnder(generators [][]int) (o orbits) {
	net := p.forward
	size := make([]int64, net.Vertices)
	whose := symmetry.Orbits(net.Vertices, generators)
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
		arcs = append(arcs, net.arcImages(image))
	}
	number := map[int]int{}
	for e, first := range symmetry.Orbits(len(net.Arcs), arcs) {
		if first == e {
			number[e] = len(o.links)
			o.links = append(o.links, 0)
		}
		o.link = append(o.link, number[first])
		o.links[number[first]]++
	}
	return o
}

// allPermutations returns generators of all permutations of the ranks (a transposition
// and a rotation) if all are automorphisms, as around a hub or in a complete graph.
// Otherwise it returns nil.
func (p *problem) allPermutations() (generators [][]int) {
	if p.ranksTested {
		return p.rankGenerators
	}
	p.ranksTested = true
	swapped := lists.UpTo(p.forward.Vertices)
	swapped[0], swapped[1] = 1, 0
	if turned := p.rotation(); p.forward.invariantUnder(swapped) && p.forward.invariantUnder(turned) {
		p.rankGenerators = [][]int{swapped, turned}
	}
	return p.rankGenerators
}

// rotations returns the rotation of the ranks by one, and the reflection, as far as they
// are automorphisms, as in a ring. It returns nil if the rotation is not.
func (p *problem) rotations() (generators [][]int) {
	turned, mirrored := p.rotation(), lists.UpTo(p.forward.Vertices)
	if !p.forward.invariantUnder(turned) {
		return nil
	}
	for r := range p.n {
		mirrored[r] = p.n - 1 - r
	}
	if p.forward.invariantUnder(mirrored) {
		return [][]int{turned, mirrored}
	}
	return [][]int{turned}
}

func (p *problem) rotation() []int {
	turned := lists.UpTo(p.forward.Vertices)
	for r := range p.n {
		turned[r] = (r + 1) % p.n
	}
	return turned
}

// nodePermutations returns automorphisms of a system whose nodes are interchangeable:
// a transposition and a rotation of the nodes, and the automorphisms of one node,
// applied to all nodes at once.
func (p *problem) nodePermutations() (generators [][]int) {
	net, nodes := p.forward, p.t.Nodes
	inside := make([][]int, nodes) // by node: its vertices, corresponding ones at the same index
	var fabric []int
	for v, of := range net.Origin {
		if node := p.t.Vertices[of].Node; node >= 0 {
			inside[node] = append(inside[node], v)
		} else {
			fabric = append(fabric, v)
		}
	}
	moved := func(to func(node int) int) []int {
		image := lists.UpTo(net.Vertices)
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
	for _, a := range net.Arcs {
		from, in := at[a.From]
		to, out := at[a.To]
		if in && out {
			g.Arc(from, to, int(a.Capacity))
		}
	}
	for _, within := range p.automorphisms(g) {
		image := make([]int, net.Vertices)
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

func (p *problem) colour(v int) int {
	switch {
	case v < p.n:
		return 0
	case v < len(p.t.Vertices):
		return 1 + int(p.t.Vertices[v].Kind)
	}
	return -1 // the second half of a NIC
}

// graph returns the system and the demand as a coloured graph: links are coloured by
// capacity, vertices by kind.
func (p *problem) graph(d demand) *symmetry.Graph {
	net := p.forward
	colours := make([]int, net.Vertices)
	for v := range colours {
		colours[v] = p.colour(v)
	}
	g := symmetry.NewGraph(colours)
	for _, a := range net.Arcs {
		g.Arc(a.From, a.To, int(a.Capacity))
	}
	if !d.every {
		for r := range p.n {
			d.to(p.n, r, func(to int, parts int64) { g.Arc(r, to, -int(parts)) })
		}
	}
	return g
}

// invariantUnder reports whether a permutation of the vertices maps the arcs to
// themselves.
func (n *scaledNetwork) invariantUnder(image []int) bool {
	was, is := make([]network.Arc, len(n.Arcs)), slices.Clone(n.Arcs)
	for e, a := range n.Arcs {
		was[e] = a
		was[e].From, was[e].To = image[a.From], image[a.To]
	}
	for _, arcs := range [][]network.Arc{was, is} {
		slices.SortFunc(arcs, func(a, b network.Arc) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Capacity, b.Capacity))
		})
	}
	return slices.EqualFunc(was, is, func(a, b network.Arc) bool { return a.From == b.From && a.To == b.To && a.Capacity == b.Capacity })
}

// arcImages returns the images of the arcs under an automorphism of the vertices. Of
// equal parallel arcs, the first is mapped to the first.
func (n *scaledNetwork) arcImages(image []int) []int {
	order := func(from, to func(network.Arc) int) []int {
		all := lists.UpTo(len(n.Arcs))
		slices.SortStableFunc(all, func(i, j int) int {
			a, b := n.Arcs[i], n.Arcs[j]
			return cmp.Or(cmp.Compare(from(a), from(b)), cmp.Compare(to(a), to(b)), cmp.Compare(a.Capacity, b.Capacity))
		})
		return all
	}
	was := order(func(a network.Arc) int { return image[a.From] }, func(a network.Arc) int { return image[a.To] })
	is := order(func(a network.Arc) int { return a.From }, func(a network.Arc) int { return a.To })
	becomes := make([]int, len(n.Arcs))
	for i, e := range was {
		becomes[e] = is[i]
	}
	return becomes
}
