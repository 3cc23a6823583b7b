package rings

import (
	"fmt"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// refuteByCounts returns a reason why the links have no room for the rings if each
// step has a width, or "". Solvers are bad at such questions: they are pigeonhole
// problems.
func (p *problem) refuteByCounts(width units.Bandwidth) string {
	for _, argument := range []func(units.Bandwidth) string{p.tooFewLinks, p.tooNarrowCut, p.tooFewSteps} {
		if why := argument(width); why != "" {
			return why
		}
	}
	return ""
}

// tooFewLinks finds a GPU that fewer rings can leave or enter than are wanted, or that
// fewer can leave the node.
func (p *problem) tooFewLinks(width units.Bandwidth) string {
	if p.n == 1 && p.singleNode() {
		return "" // there is nothing to close
	}
	onward := map[int]bool{} // first edges of closing steps
	for i := range p.n {
		leave, enter := map[int]bool{}, map[int]bool{}
		for j := range p.n {
			if i == j && p.n > 1 {
				continue
			}
			for _, h := range []*hop{p.within[i][j], p.closing[i][j]} {
				if h != nil && p.wide(h, width) {
					leave[h.edges[0]] = true
				}
			}
			for _, h := range []*hop{p.within[j][i], p.closing[j][i]} {
				if h != nil && p.wide(h, width) {
					enter[h.edges[len(h.edges)-1]] = true
				}
			}
			if h := p.closing[i][j]; h != nil && p.wide(h, width) {
				onward[h.edges[0]] = true
			}
		}
		if out, in := p.totalCapacity(leave, width), p.totalCapacity(enter, width); p.n > 1 && min(out, in) < p.count {
			return fmt.Sprintf("the links of %s are %d out and %d in, and each ring takes one of both", p.gpu(i), out, in)
		}
	}
	if out := p.totalCapacity(onward, width); out < p.count {
		return fmt.Sprintf("%d links lead from node to node, and each ring takes one", out)
	}
	return ""
}

// totalCapacity returns how often rings can use some edges together.
func (p *problem) totalCapacity(edges map[int]bool, width units.Bandwidth) (sum int) {
	for e := range edges {
		sum += p.capacity(e, width)
	}
	return sum
}

// maxFlowRanks is the largest node, in ranks, for which flows are computed between
// the first rank and each other one.
const maxFlowRanks = 64

// tooNarrowCut finds a group of GPUs that fewer rings can leave than are wanted, for
// instance where all data between two halves of a box pass a host. A ring contains a
// path from each rank to every other, so each maximum flow must be that of all rings.
// On several nodes a ring passes through a node once, in either direction.
func (p *problem) tooNarrowCut(width units.Bandwidth) string {
	if p.n > maxFlowRanks || p.n < 2 {
		return ""
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
			var sides [2][]int
			for i := range p.n {
				if g.OnSourceSide(p.nodes[0][i]) {
					sides[0] = append(sides[0], i)
				} else {
					sides[1] = append(sides[1], i)
				}
			}
			return fmt.Sprintf("%d links lead from %s to %s, and each ring takes one", flow, p.gpus(sides[0]), p.gpus(sides[1]))
		}
	}
	return ""
}

// tooFewSteps finds that the links of a node cannot carry all steps of the rings:
// between two ranks they carry no more than there are rings, since no ring goes there
// and back.
func (p *problem) tooFewSteps(width units.Bandwidth) string {
	wanted := p.count * (p.n - 1)
	if p.singleNode() {
		wanted = p.count * p.n
	}
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
	if p.n < 2 || total >= wanted {
		return ""
	}
	return fmt.Sprintf("%d rings take %d steps from GPU to GPU of a node, and its links hold %d of them", p.count, wanted, total)
}
