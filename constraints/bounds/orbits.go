package bounds

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/constraints/symmetry"
)

// orbits are what of a system may change places without changing it, or who
// sends to whom: a best way to send everything treats all of an orbit alike, so
// that one of each stands for all.
type orbits struct {
	sources []int   // a rank of each orbit of ranks
	times   []int64 // how many ranks are in it
	link    []int   // by arc: its orbit
	links   []int64 // how many arcs are in each orbit of arcs
}

const (
	// symmetricRanks is the largest system whose symmetries are looked for.
	symmetricRanks = 256
	// symmetryWork bounds what is spent on it: some hundredths of a second.
	symmetryWork = 100_000_000
)

// orbits finds them for pairs; on systems too large to look, everything is like
// itself alone.
func (p *problem) orbits(d pairs) orbits {
	net := p.forward
	var generators [][]int
	if p.n <= symmetricRanks {
		generators = symmetry.Find(p.graph(d), symmetryWork).Generators
	}
	var o orbits
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

// graph is a system with who sends to whom, its links coloured by what they carry
// and its vertices by what they are.
func (p *problem) graph(d pairs) *symmetry.Graph {
	net := p.forward
	colours := make([]int, net.vertices)
	for v := range colours {
		switch {
		case v < p.n:
		case v < len(p.t.Vertices):
			colours[v] = 1 + int(p.t.Vertices[v].Kind)
		default:
			colours[v] = -1 // a NIC's other half
		}
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

// renamed is what becomes of arcs where vertices become others: of arcs side by
// side and as wide, the first becomes the first.
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
