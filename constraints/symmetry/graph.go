package symmetry

import "slices"

// Graph is a directed graph with colours on its vertices and arcs.
type Graph struct {
	colours []int
	arcs    []arc
	out, in [][]int32 // arcs by vertex
	between map[[2]int32][]int
}

type arc struct {
	from, to int32
	colour   int
}

// NewGraph is a graph without arcs; it has a vertex for each of the colours.
func NewGraph(colours []int) *Graph {
	return &Graph{colours: colours, out: make([][]int32, len(colours)), in: make([][]int32, len(colours))}
}

// Arc adds an arc. One more between the same vertices is another arc.
func (g *Graph) Arc(from, to, colour int) {
	at := int32(len(g.arcs))
	g.arcs = append(g.arcs, arc{int32(from), int32(to), colour})
	g.out[from] = append(g.out[from], at)
	g.in[to] = append(g.in[to], at)
	g.between = nil
}

// index lists the colours of the arcs between any two vertices.
func (g *Graph) index() {
	if g.between != nil {
		return
	}
	g.between = map[[2]int32][]int{}
	for _, a := range g.arcs {
		k := [2]int32{a.from, a.to}
		g.between[k] = append(g.between[k], a.colour)
	}
	for _, colours := range g.between {
		slices.Sort(colours)
	}
}

// keeps tells whether a permutation of the vertices is an automorphism.
func (g *Graph) keeps(image []int) bool {
	for v, w := range image {
		if g.colours[v] != g.colours[w] {
			return false
		}
	}
	for k, colours := range g.between {
		if !slices.Equal(colours, g.between[[2]int32{int32(image[k[0]]), int32(image[k[1]])}]) {
			return false
		}
	}
	return true // as many arcs on either side: the image of no arc is no arc
}
