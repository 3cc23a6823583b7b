package synth

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/topologies"
)

// rateBound returns the bound of package bounds: the least rounds for any number of steps, and
// the proof. It is tighter than single flows if chunks have a single destination each
// (multicommodity flow) and if sums are wanted in several places; otherwise it is nil.
func (p *problem) rateBound() (*big.Rat, string) {
	if p.reduces && !p.sumsEverywhere() || !p.reduces && !p.singleDestination() {
		return nil, ""
	}
	b, err := bounds.Of(p.ctx, p.roundedTopology(), p.Collective)
	if err != nil || b.AlgbwBps == nil {
		return nil, ""
	}
	size := big.NewRat(int64(p.Collective.LoopChunks())*int64(p.net.unit), 1) // in bytes a second, for a round's bandwidth
	return size.Quo(size, b.AlgbwBps), fmt.Sprintf("no routing of any number of steps beats %s GB/s: %s", b.Exact, b.Proof)
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

// leastRatio returns a lower bound on R/C for any number of steps and chunks, by flows and
// package bounds: the maximum, over all demands and cuts, of the chunks that must cross the
// cut over its capacity in a round. It is nil if nothing has to move, and means nothing once
// the problem's context has ended.
func (p *problem) leastRatio() *big.Rat {
	least := new(big.Rat)
	var demands []demand
	net := p.net
	switch {
	case !p.reduces:
		demands = p.demands()
	case p.sumsEverywhere():
		demands = p.sumDemands()
		if sends, room := p.sends(); room > 0 {
			least.SetFrac64(int64(sends), int64(room))
		}
	default:
		dual := p.reversedProblem()
		demands, net = dual.demands(), dual.net
	}
	u := net.singleStep()
	for i := range demands {
		if p.ctx.Err() != nil {
			return nil
		}
		u.raiseRounds(&demands[i], least)
	}
	if least.Sign() == 0 {
		return nil
	}
	if !p.unreachable() {
		if rate, _ := p.rateBound(); rate != nil && rate.Cmp(least) > 0 {
			least.Set(rate)
		}
	}
	// least counts rounds for each of the collective's own chunks, whereas C
	// counts an alltoall's inputs.
	return least.Quo(least, big.NewRat(int64(p.Collective.Chunks*p.perChunk()), 1))
}

// raiseRounds raises the rounds until a demand is feasible. Each violated cut gives the next
// number of rounds (Newton's method).
func (u *unrolled) raiseRounds(d *demand, rounds *big.Rat) {
	for {
		num, den := rounds.Num().Int64(), rounds.Denom().Int64()
		for i, a := range u.links[0] {
			u.g.SetCapacity(a, int64(u.net.links[i].capacity)*num)
		}
		for r := range u.net.ranks {
			u.g.SetCapacity(u.feed[r], d.from[r]*den)
			u.g.SetCapacity(u.drain[r], d.into[r]*den)
		}
		if u.g.MaxFlow(u.source, u.sink, maxflow.Unlimited) >= d.need*den {
			return
		}
		must, can := d.need, int64(0)
		for r := range u.net.ranks {
			if !u.g.OnSourceSide(u.rank(r, 0)) {
				must -= d.from[r]
			}
			if u.g.OnSourceSide(u.rank(r, 1)) {
				must -= d.into[r]
			}
		}
		for _, l := range u.net.links {
			if u.g.OnSourceSide(u.vertex(l.from, 0, 0)) && !u.g.OnSourceSide(u.vertex(l.to, 0, 1)) {
				can += int64(l.capacity)
			}
		}
		if can == 0 {
			return // there is no path, which the bound by distances covers
		}
		rounds.SetFrac64(must, can)
	}
}
