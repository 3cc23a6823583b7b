package synth

import (
	"math/big"

	"github.com/colltune/colltune/constraints/maxflow"
)

// Ratio returns a lower bound on R/C for any number of steps and chunks, by flows and package
// bounds: the maximum, over all demands and cuts, of the chunks that must cross the cut over
// its capacity in a round. The query's steps and rounds are ignored. It is nil if nothing has
// to move. The error is a *QueryError.
func Ratio(q Query) (*big.Rat, error) {
	q.Steps, q.Rounds = 1, 1
	p, err := newProblem(q)
	if err != nil {
		return nil, err
	}
	return p.leastRatio(), nil
}

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
		p.checkDeadline()
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

// perChunk returns the number of chunks, as the literature counts them, for each of the
// collective's.
func (p *problem) perChunk() int {
	if p.Collective.Name == "alltoall" {
		return p.net.ranks
	}
	return 1
}

// sumsEverywhere reports whether sums are wanted in more than one place.
func (p *problem) sumsEverywhere() bool {
	for _, it := range p.items {
		if len(it.wanted) > 1 {
			return p.reduces
		}
	}
	return false
}

// singleStep returns the network of one step in which chunks can pass through ranks. A bound
// on it holds for any number of steps.
func (n *network) singleStep() *unrolled {
	u := n.unroll(1)
	for r := range n.ranks {
		u.g.Arc(u.rank(r, 1), u.rank(r, 0), maxflow.Unlimited>>8)
	}
	return u
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
