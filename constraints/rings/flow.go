package rings

import (
	"fmt"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// A ring contains a path from each rank to every other. So if the maximum flow from
// one rank to another is less than the number of rings, there are no such rings: for
// instance if all data between two halves of a box pass a host. On several nodes a
// ring passes through a node once, in either direction. Solvers are bad at such
// questions: they are pigeonhole problems.

// maxFlowRanks is the largest node, in ranks, for which flows are computed between
// the first rank and each other one.
const maxFlowRanks = 64

// narrowCutAt finds a cut that fewer rings can cross than are wanted, if each step has
// a width. It returns the ranks on one side and how many rings can leave them. inside
// is nil if there is no such cut, or if the node is too large to look for one.
func (p *problem) narrowCutAt(width units.Bandwidth) (inside []int, rings int) {
	if p.n > maxFlowRanks || p.n < 2 {
		return nil, 0
	}
	g, known := maxflow.New(len(p.t.Vertices)), map[int]bool{}
	for _, row := range p.within {
		for _, h := range row {
			if h == nil || !p.wide(h, width) {
				continue
			}
			for _, e := range h.edges {
				if !known[e] {
					known[e] = true
					g.Arc(p.t.Edges[e].From, p.t.Edges[e].To, int64(p.capacity(e, width)))
					if !p.singleNode() {
						g.Arc(p.t.Edges[e].To, p.t.Edges[e].From, int64(p.capacity(e, width)))
					}
				}
			}
		}
	}
	for to := 1; to < p.n; to++ {
		for _, ends := range [][2]int{{0, to}, {to, 0}} {
			flow := int(g.MaxFlow(p.nodes[0][ends[0]], p.nodes[0][ends[1]], int64(p.count)))
			if flow >= p.count {
				continue
			}
			for i := range p.n {
				if g.OnSourceSide(p.nodes[0][i]) {
					inside = append(inside, i)
				}
			}
			return inside, flow
		}
	}
	return nil, 0
}

// tooNarrowCut finds a group of GPUs that fewer links leave than there are rings.
func (p *problem) tooNarrowCut() string {
	inside, rings := p.narrowCutAt(1)
	if inside == nil {
		return ""
	}
	return fmt.Sprintf("%d links lead from %s to %s, and each ring takes one", rings, p.gpus(inside), p.gpus(complement(p.n, inside, -1)))
}

// stepsAtMost bounds the steps within a node that all rings can take together, if
// each step has a width: between two ranks as many as the links allow, but no more
// than there are rings, since no ring goes there and back.
func (p *problem) stepsAtMost(width units.Bandwidth) int {
	holds := func(h *hop) int {
		if h == nil {
			return 0
		}
		least := p.count
		for _, e := range h.edges {
			least = min(least, p.capacity(e, width))
		}
		return least
	}
	total := 0
	for i := range p.n {
		for j := range i {
			both := holds(p.within[i][j]) + holds(p.within[j][i])
			if p.n > 2 || !p.singleNode() {
				both = min(both, p.count)
			}
			total += both
		}
	}
	return total
}

// stepsWanted returns the number of steps that all rings take within a node.
func (p *problem) stepsWanted() int {
	if p.singleNode() {
		return p.count * p.n
	}
	return p.count * (p.n - 1)
}

// tooFewSteps finds that the links of a node have too little capacity in total.
func (p *problem) tooFewSteps() string {
	if p.n < 2 || p.stepsAtMost(1) >= p.stepsWanted() {
		return ""
	}
	return fmt.Sprintf("%d rings take %d steps from GPU to GPU of a node, and its links hold %d of them", p.count, p.stepsWanted(), p.stepsAtMost(1))
}
