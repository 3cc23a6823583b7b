package trees

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints/internal/words"
	"github.com/colltune/colltune/constraints/maxflow"
)

// cut explains why there are not so many trees, or returns nothing: the smallest
// set of ranks, around the one that is worst off, with too few links leading into
// it from outside (or out of it, if data go to the root).
func (p *stepProblem) cut() string {
	flow := maxflow.New(p.n) // reversed, so that the cut nearest to the rank is found
	for a := range p.n {
		for b := range p.n {
			if s := p.step(a, b); s != nil {
				flow.Arc(b, a, int64(p.links(s)))
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
		if size := len(p.reached(flow)); worst < 0 || ways < least || ways == least && size < fewest {
			worst, least, fewest = v, ways, size
		}
	}
	if worst < 0 {
		return ""
	}
	flow.MaxFlow(worst, p.root, int64(p.count))
	inside := p.reached(flow)
	return p.leads(inside, int(least))
}

// reached lists the ranks on the near side of the last cut.
func (p *stepProblem) reached(flow *maxflow.Graph) (ranks []int) {
	for r := range p.n {
		if flow.OnSourceSide(r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// leads says how many links lead into a set of ranks, and from where.
func (p *stepProblem) leads(inside []int, links int) string {
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

// gpu names a rank as the topology does.
func (p *stepProblem) gpu(r int) string {
	if p.t.Nodes == 1 {
		return p.t.Vertices[r].Name
	}
	return fmt.Sprintf("%s of node %d", p.t.Vertices[r].Name, p.t.Ranks[r].Node)
}

// gpus names several ranks; a whole node, one of several, by its number.
func (p *stepProblem) gpus(ranks []int) string {
	for node := range p.t.Nodes {
		if p.t.Nodes > 1 && slices.Equal(ranks, p.t.NodeRanks(node)) {
			return fmt.Sprintf("node %d", node)
		}
	}
	return words.List(len(ranks), func(i int) string { return p.gpu(ranks[i]) })
}
