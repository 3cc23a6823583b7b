package constraints

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/topologies"
)

// ringProblem asks for orders of a node's ranks. Each step must be a hop that
// exists; the step from the last rank to the first closes the ring or, on several
// nodes, leads into the next node.
type ringProblem struct {
	t     *topologies.Topology
	nodes [][]int // ranks of each node, by local position
	n     int     // ranks in a node
	count int     // rings wanted
	in    [][]*hop
	close [][]*hop
	near  [][]int // by rank: its neighbours, computed when first needed
	// bothWays means that every ring takes its links in both directions.
	bothWays bool
	workLeft *time.Duration // of solvers; nil means no limit
	noSolver bool
	why      string // why there are no rings of the width last asked for
}

// hop is a step that exists, with the edges it takes in the first node, or between
// the first two.
type hop struct{ edges []int }

func newRingProblem(ctx context.Context, t *topologies.Topology, count int) (*ringProblem, error) {
	p := &ringProblem{t: t, count: count}
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
	p.in = p.hops(ctx, 0, len(p.nodes))
	p.close = p.in
	if len(p.nodes) > 1 {
		p.close = p.hops(ctx, 1, len(p.nodes))
	}
	return p, ctx.Err()
}

// hops lists, by local positions, the steps that exist in every node (ahead 0) or
// from every node into the next (ahead 1). Once the context is done, steps are missing.
func (p *ringProblem) hops(ctx context.Context, ahead, nodes int) [][]*hop {
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
func (p *ringProblem) unroll(order []int) []int {
	var all []int
	for _, ranks := range p.nodes {
		for _, i := range order {
			all = append(all, ranks[i])
		}
	}
	return all
}

// complete tells whether every two ranks of a node are linked.
func (p *ringProblem) complete() bool {
	for i := range p.n {
		for j := range p.n {
			if i != j && p.in[i][j] == nil {
				return false
			}
		}
	}
	return p.n > 1
}
