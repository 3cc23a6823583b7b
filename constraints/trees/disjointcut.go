package trees

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints/internal/words"
	"github.com/colltune/colltune/constraints/maxflow"
)

// explain describes why there are fewer trees than wanted: the smallest set of ranks,
// around the rank with the least flow, that too few links enter (or leave, if data flow
// to the root). It returns "" if there are enough trees.
func (p *stepProblem) explain() string {
	flow := maxflow.New(p.n) // reversed, so that the cut nearest to the rank is found
	for a := range p.n {
		for b := range p.n {
			if s := p.step(a, b); s != nil {
				flow.Arc(b, a, int64(p.linkCount(s)))
			}
		}
	}
	worst, least, fewest := -1, int64(p.count), p.n
	for v := range p.n {
		if v == p.root {
			continue
		}
		ways := flow.MaxFlow(v, p.root, int64(p.count))
		if ways >= int64(p.count) {
			continue
		}
		if size := len(p.sourceSide(flow)); worst < 0 || ways < least || ways == least && size < fewest {
			worst, least, fewest = v, ways, size
		}
	}
	if worst < 0 {
		return ""
	}
	flow.MaxFlow(worst, p.root, int64(p.count))
	inside := p.sourceSide(flow)
	return p.describeCut(inside, int(least))
}

// sourceSide lists the ranks on the source's side of the last cut.
func (p *stepProblem) sourceSide(flow *maxflow.Graph) (ranks []int) {
	for r := range p.n {
		if flow.OnSourceSide(r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// describeCut says how many links enter a set of ranks, and from where.
func (p *stepProblem) describeCut(inside []int, links int) string {
	within := make([]bool, p.n)
	for _, r := range inside {
		within[r] = true
	}
	var from []int
	for a := range p.n {
		for _, b := range inside {
			if !within[a] && p.step(a, b) != nil {
				from = append(from, a)
				break
			}
		}
	}
	where, origin := "into "+p.gpus(inside), "from "
	switch {
	case p.up && !p.down:
		where, origin = "out of "+p.gpus(inside), "to "
	case p.up:
		where, origin = "to "+p.gpus(inside)+" and back", ""
	}
	switch links {
	case 0:
		return "no link leads " + where
	case 1:
		return fmt.Sprintf("1 link leads %s (%s%s)", where, origin, p.gpus(from))
	}
	return fmt.Sprintf("%d links lead %s (%s%s)", links, where, origin, p.gpus(from))
}

// gpu returns a rank's name in the topology.
func (p *stepProblem) gpu(r int) string {
	if p.t.Nodes == 1 {
		return p.t.Vertices[r].Name
	}
	return fmt.Sprintf("%s of node %d", p.t.Vertices[r].Name, p.t.Ranks[r].Node)
}

// gpus names several ranks. The ranks of a whole node are named by the node's number.
func (p *stepProblem) gpus(ranks []int) string {
	for node := range p.t.Nodes {
		if p.t.Nodes > 1 && slices.Equal(ranks, p.t.NodeRanks(node)) {
			return fmt.Sprintf("node %d", node)
		}
	}
	return words.List(len(ranks), func(i int) string { return p.gpu(ranks[i]) })
}
