package rings

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/topologies"
)

// problem asks for orders of a node's ranks. Each step must be an existing hop.
// The step from the last rank to the first, the closing step, closes the ring or, on
// several nodes, leads into the next node.
type problem struct {
	t          *topologies.Topology
	nodes      [][]int // ranks of each node, by local position
	n          int     // ranks in a node
	count      int     // rings wanted
	within     [][]*hop
	closing    [][]*hop
	workLeft   *time.Duration // of solvers; nil means no limit
	noSolver   bool
	refutation string // why there are no rings of the width last asked for
}

// hop is an existing step, with the edges it uses in the first node, or between the
// first two.
type hop struct{ edges []int }

func newRingProblem(ctx context.Context, t *topologies.Topology, count int) (*problem, error) {
	p := &problem{t: t, count: count}
	for node := range t.Nodes {
		p.nodes = append(p.nodes, t.NodeRanks(node))
	}
	if len(p.nodes) == 0 {
		return nil, fmt.Errorf("topology %s: no nodes", t.Name)
	}
	p.n = len(p.nodes[0])
	for node, ranks := range p.nodes {
		if len(ranks) != p.n {
			return nil, &NoRingError{t.Name, count, fmt.Sprintf("node %d has %d GPUs, node 0 has %d: rings need nodes alike", node, len(ranks), p.n), ""}
		}
	}
	p.within = p.listHops(ctx, 0, len(p.nodes))
	p.closing = p.within
	if len(p.nodes) > 1 {
		p.closing = p.listHops(ctx, 1, len(p.nodes))
	}
	return p, ctx.Err()
}

// listHops returns, by local positions, the steps that exist in every node (ahead 0) or
// from every node into the next (ahead 1). If the context ends, the list is incomplete.
func (p *problem) listHops(ctx context.Context, ahead, nodes int) [][]*hop {
	hops := make([][]*hop, p.n)
	for i := range hops {
		if ctx.Err() != nil {
			break
		}
		hops[i] = make([]*hop, p.n)
		for j := range hops[i] {
			if ahead == 0 && i == j {
				continue
			}
			linked := true
			for node := 0; node < nodes && linked; node++ {
				linked = p.t.Linked(p.nodes[node][i], p.nodes[(node+ahead)%nodes][j])
			}
			if linked {
				path, _ := p.t.Path(p.nodes[0][i], p.nodes[ahead%nodes][j])
				hops[i][j] = &hop{path.Edges}
			}
		}
	}
	return hops
}

// unroll repeats a node's order for the whole system.
func (p *problem) unroll(order []int) []int {
	var all []int
	for _, ranks := range p.nodes {
		for _, i := range order {
			all = append(all, ranks[i])
		}
	}
	return all
}

// complete reports whether all pairs of ranks of a node are linked.
func (p *problem) complete() bool {
	for i := range p.n {
		for j := range p.n {
			if i != j && p.within[i][j] == nil {
				return false
			}
		}
	}
	return p.n > 1
}

// singleNode reports whether a node's order is itself the ring.
func (p *problem) singleNode() bool { return len(p.nodes) == 1 }
