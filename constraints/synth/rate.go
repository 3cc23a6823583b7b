package synth

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// rateBound returns the bound of package bounds: the least rounds for any number of steps, and
// the proof. It is tighter than single flows if chunks have a single destination each
// (multicommodity flow) and if sums are wanted in several places; otherwise it is nil.
func (p *problem) rateBound() (*big.Rat, string) {
	if p.reduces && !p.sumsEverywhere() || !p.reduces && !p.singleDestination() {
		return nil, ""
	}
	b, err := bounds.Of(p.context(), p.roundedTopology(), p.Collective)
	if err != nil || b.AlgbwBps == nil {
		return nil, ""
	}
	size := big.NewRat(int64(p.Collective.LoopChunks())*int64(p.net.unit), 1) // in bytes a second, for a round's bandwidth
	return size.Quo(size, b.AlgbwBps), fmt.Sprintf("no routing of any number of steps beats %s GB/s: %s", b.Exact, b.Proof)
}

// context returns the problem's context.
func (p *problem) context() context.Context {
	if p.ctx == nil {
		return context.Background()
	}
	return p.ctx
}

// roundedTopology returns the topology with the bandwidth of each link rounded down to a
// whole number of chunks a round; it is unchanged if some link would carry none.
func (p *problem) roundedTopology() *topologies.Topology {
	t := p.Topology
	if slices.ContainsFunc(t.Edges, func(e topologies.Edge) bool { return e.Bandwidth < p.net.unit }) {
		return t
	}
	edges := slices.Clone(t.Edges)
	for i := range edges {
		edges[i].Bandwidth -= edges[i].Bandwidth % p.net.unit
	}
	return &topologies.Topology{Name: t.Name, Nodes: t.Nodes, Ranks: t.Ranks, Vertices: t.Vertices, Edges: edges,
		Runtime: t.Runtime, Arch: t.Arch, CPU: t.CPU, Protocols: t.Protocols}
}

// belowRateBound refutes a query with fewer rounds than package bounds allows.
func (p *problem) belowRateBound() *Refutation {
	if p.unreachable() {
		return nil // the bound by distances covers this
	}
	if least, why := p.rateBound(); least != nil && least.Cmp(big.NewRat(int64(p.Rounds), 1)) > 0 {
		return &Refutation{fmt.Sprintf("there must be %s rounds at least: %s", least.RatString(), why)}
	}
	return nil
}

// unreachable reports whether some rank has no path to another.
func (p *problem) unreachable() bool {
	for a := range p.net.dist {
		if slices.Contains(p.net.dist[a], -1) {
			return true
		}
	}
	return false
}
