package symmetry

import "slices"

// Graph is a directed multigraph with colours on its vertices and arcs.
type Graph struct {
	colours    []int
	arcs       []arc
	out, in    [][]int32 // arcs by vertex
	arcColours map[[2]int32][]int
}

type arc struct {
	from, to int32
	colour   int
}

// NewGraph returns a graph without arcs. It has a vertex for each colour in the
// list, and keeps the list.
func NewGraph(colours []int) *Graph {
	return &Graph{colours: colours, out: make([][]int32, len(colours)), in: make([][]int32, len(colours))}
}

// Arc adds an arc, also if there is one between the two vertices already.
func (g *Graph) Arc(from, to, colour int) {
	at := int32(len(g.arcs))
	g.arcs = append(g.arcs, arc{int32(from), int32(to), colour})
	g.out[from] = append(g.out[from], at)
	g.in[to] = append(g.in[to], at)
	g.arcColours = nil
}

// index collects the colours of the arcs between any two vertices, sorted.
func (g *Graph) index() {
	if g.arcColours != nil {
		return
	}
	g.arcColours = map[[2]int32][]int{}
	for _, a := range g.arcs {
		k := [2]int32{a.from, a.to}
		g.arcColours[k] = append(g.arcColours[k], a.colour)
	}
	for _, colours := range g.arcColours {
		slices.Sort(colours)
	}
}

// isAutomorphism reports whether a permutation of the vertices is an automorphism.
func (g *Graph) isAutomorphism(image []int) bool {
	for v, w := range image {
		if g.colours[v] != g.colours[w] {
			return false
		}
	}
	for k, colours := range g.arcColours {
		if !slices.Equal(colours, g.arcColours[[2]int32{int32(image[k[0]]), int32(image[k[1]])}]) {
			return false
		}
	}
	return true // every arc has an image, and a permutation maps distinct arcs to distinct ones
}
