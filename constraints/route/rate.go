package route

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// rate is the bound of package bounds: the least rounds whatever the number of
// steps, and the reason. It adds to the bound by flows where chunks have a single
// destination each, since these compete for links in ways that no single flow
// shows, and where sums are wanted everywhere. It is nil elsewhere.
func (p *problem) rate() (*big.Rat, string) {
	if p.reduces && !p.everySum() || !p.reduces && !p.counts() {
		return nil, ""
	}
	b, err := bounds.Of(p.context(), p.floored(), p.Collective)
	if err != nil || b.AlgbwBps == nil {
		return nil, ""
	}
	size := big.NewRat(int64(p.Collective.LoopChunks())*int64(p.net.unit), 1) // in bytes a second, for a round's bandwidth
	return size.Quo(size, b.AlgbwBps), fmt.Sprintf("no routing of any number of steps beats %s GB/s: %s", b.Exact, b.Proof)
}

// context is the problem's time limit.
func (p *problem) context() context.Context {
	if p.until == nil {
		return context.Background()
	}
	return p.until
}

// floored is the topology with the bandwidth of each link rounded down to a whole
// number of chunks a round; it is unchanged if some link would carry none.
func (p *problem) floored() *topologies.Topology {
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

// tooFast refutes a query with fewer rounds than package bounds allows.
func (p *problem) tooFast() *Refutation {
	if p.unreachable() {
		return nil // the bound by distances covers this
	}
	if least, why := p.rate(); least != nil && least.Cmp(big.NewRat(int64(p.Rounds), 1)) > 0 {
		return &Refutation{fmt.Sprintf("there must be %s rounds at least: %s", least.RatString(), why)}
	}
	return nil
}

// unreachable reports whether some rank can't get what it wants at all.
func (p *problem) unreachable() bool {
	for a := range p.net.dist {
		if slices.Contains(p.net.dist[a], -1) {
			return true
		}
	}
	return false
}
