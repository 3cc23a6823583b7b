package constraints

import (
	"fmt"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// A ring has a way from each of its ranks to every other. So where less can flow
// from one to another than there are rings, all of them together, there is no
// room for so many: the host between two halves of a box, say. Solvers would
// have to find that by trying (the pigeonhole principle).

// mostFlowing is the ranks up to which every pair of them with the first is
// looked at.
const mostFlowing = 64

// narrowest is the ranks of one side of a cut that fewer rings can leave than
// are wanted, where each step gets a width, and how many can; nil where there is
// no such cut, or it is not looked for: on several nodes, or many ranks.
func (p *ringProblem) narrowest(width units.Bandwidth) (inside []int, rings int) {
	if !p.closed() || p.n > mostFlowing || p.n < 2 {
		return nil, 0
	}
	g, known := maxflow.New(len(p.t.Vertices)), map[int]bool{}
	for _, row := range p.in {
		for _, h := range row {
			if h == nil || !p.wide(h, width) {
				continue
			}
			for _, e := range h.edges {
				if !known[e] {
					known[e] = true
					g.Arc(p.t.Edges[e].From, p.t.Edges[e].To, int64(p.capacity(e, width)))
				}
			}
		}
	}
	for to := 1; to < p.n; to++ {
		for _, ends := range [][2]int{{0, to}, {to, 0}} {
			flow := int(g.Run(p.nodes[0][ends[0]], p.nodes[0][ends[1]], int64(p.count)))
			if flow >= p.count {
				continue
			}
			for i := range p.n {
				if g.Reached(p.nodes[0][i]) {
					inside = append(inside, i)
				}
			}
			return inside, flow
		}
	}
	return nil, 0
}

// narrowCut finds GPUs that fewer links lead away from than there are rings.
func (p *ringProblem) narrowCut() string {
	inside, rings := p.narrowest(1)
	if inside == nil {
		return ""
	}
	return fmt.Sprintf("%d links lead from %s to %s, and each ring takes one", rings, p.gpus(inside), p.gpus(others(p.n, inside, -1)))
}
