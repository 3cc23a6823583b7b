package synth

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/symmetry"
)

// findAllReduce answers a query for sums that are wanted in several places, such as an
// allreduce. It first looks for a reducescatter followed by an allgather, and then for any
// routing. Only a bound or the second search can refute the query.
func (p *problem) findAllReduce(s *solver.Pool, ask solveBudget) (Answer, error) {
	if ask.mixed {
		sched, err := p.mixed(s, ask)
		if sched == nil || err != nil {
			return Answer{Status: solver.Timeout, By: Mixing}, err
		}
		return Answer{Status: solver.Sat, By: Mixing, Schedule: sched}, nil
	}
	ctx, cancel := ask.boundContext()
	defer cancel()
	open, refuted, err := p.boundSums(ctx)
	if err != nil {
		return Answer{}, err
	}
	if refuted != nil {
		return Answer{Status: solver.Unsat, By: Bound, Detail: refuted.Reason}, nil
	}
	sched, by, err := p.composed(s, ask.share(1, 4))
	if ask.onlyLate(err) {
		err = nil
	}
	if err != nil || sched != nil {
		return Answer{Status: solver.Sat, By: by, Schedule: sched}, err
	}
	none, err := p.singleChunkInfeasible(s, ask.share(1, 8), p.Steps)
	if err != nil {
		return Answer{}, err
	}
	if none != nil {
		return Answer{Status: solver.Unsat, By: none.by, Detail: none.why}, nil
	}
	low, err := p.belowPriceBound(s, ask.share(1, 4))
	if err != nil {
		return Answer{}, err
	}
	if low != nil {
		return Answer{Status: solver.Unsat, By: low.by, Detail: low.why}, nil
	}
	if sched, err = p.mixed(s, ask); err != nil || sched != nil {
		return Answer{Status: solver.Sat, By: Mixing, Schedule: sched}, err
	}
	if sched, by, err = p.restricted(s, ask.share(2, 3), open); err != nil || sched != nil {
		return Answer{Status: solver.Sat, By: by, Schedule: sched}, err
	}
	return p.solve(s, ask, open)
}

// singleChunkInfeasible returns a refutation if not even one chunk can be summed everywhere
// in a number of steps, with unlimited links. Adding each contribution exactly once can take
// more steps than copying it everywhere. It is nil if a chunk can be summed, or if that is
// not settled.
func (p *problem) singleChunkInfeasible(s *solver.Pool, ask solveBudget, steps int) (*ratioBound, error) {
	if ask.hopeful || p.net.ranks > hearingRanks || p.Collective.Name != "allreduce" {
		return nil, nil
	}
	one, err := p.oneChunk(steps)
	if err != nil {
		return nil, err
	}
	e := one.encodeSumWithoutLinks(p.Collective.Name+" on "+p.Topology.Name+": one chunk", nil)
	a, err := ask.ask(s, encoding{formula: e.f, preferred: "pb"})
	if err != nil || a.Status != solver.Unsat {
		return nil, err
	}
	return &ratioBound{by: a.By, seconds: a.Seconds, why: fmt.Sprintf("not one chunk can be summed everywhere in %s, whatever the rounds", plural(steps, "step"))}, nil
}

// oneChunk returns the problem of one chunk in a number of steps.
func (p *problem) oneChunk(steps int) (*problem, error) {
	spec := p.Collective.Spec
	spec.Chunks = 1
	c, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	return p.withCollective(c, steps, steps)
}

// part is the steps and rounds of the first of two phases.
type part struct{ steps, rounds int }

// composed looks for a reducescatter and an allgather that together keep to the
// query's steps and rounds. It returns nil if the chunks can't be divided evenly,
// or none are found.
func (p *problem) composed(s *solver.Pool, ask solveBudget) (Schedule, string, error) {
	n := p.net.ranks
	if p.Collective.Name != "allreduce" || p.Collective.Chunks%n != 0 {
		return nil, "", nil
	}
	ctx, cancel := ask.boundContext()
	defer cancel()
	var parts []part
	for steps := 1; steps < p.Steps; steps++ {
		for rounds := steps; p.Rounds-rounds >= p.Steps-steps; rounds++ {
			parts = append(parts, part{steps, rounds})
		}
	}
	off := func(a part) int {
		return max(2*a.steps-p.Steps, p.Steps-2*a.steps) + max(2*a.rounds-p.Rounds, p.Rounds-2*a.rounds)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(off(a), off(b)) })
	phase := func(name string, a part) (*problem, error) {
		c, err := collective.New(collective.Spec{Name: name, Ranks: n, Chunks: p.Collective.Chunks / n})
		if err != nil {
			return nil, err
		}
		return p.withCollective(c, a.steps, a.rounds)
	}
	for _, a := range parts {
		first, err := phase("reducescatter", a)
		if err != nil {
			return nil, "", err
		}
		second, err := phase("allgather", part{p.Steps - a.steps, p.Rounds - a.rounds})
		if err != nil {
			return nil, "", err
		}
		if schedule, by, err := inPhases(ctx, s, ask, first, second); schedule != nil || err != nil {
			return schedule, by, err
		}
	}
	return nil, "", nil
}

// inPhases answers a reducescatter and an allgather, one after the other. The
// schedule is nil if either has no routing, or none is found.
func inPhases(ctx context.Context, s *solver.Pool, ask solveBudget, first, second *problem) (Schedule, string, error) {
	for _, p := range []*problem{first.reversedProblem(), second} { // before either is put to a solver
		if _, refuted, err := p.bound(ctx); refuted != nil || err != nil {
			return nil, "", err
		}
	}
	one, err := first.findReduce(s, ask)
	if err != nil || one.Status != solver.Sat {
		return nil, "", err
	}
	two, err := second.findCopy(s, ask)
	if err != nil || two.Status != solver.Sat {
		return nil, "", err
	}
	by := two.By
	if one.By != two.By {
		by = one.By + "+" + two.By
	}
	// Both number their items in the same way: by rank and chunk, as places of the
	// data.
	return append(one.Schedule, two.Schedule...), by, nil
}

// boundSums returns the splits of rounds that are not excluded for sums wanted
// everywhere, by two conditions:
//
//   - what any rank contributes must come to any other that wants the sum: as
//     many chunks as the data have, and so out of every set of ranks too
//   - each chunk takes 2(n-1) sends: by the time some rank first has the whole
//     sum all others have sent once, and after that all others receive
func (p *problem) boundSums(ctx context.Context) (open [][]int, refuted *Refutation, err error) {
	spread := *p
	spread.items = nil
	for _, class := range p.classes { // chunks of one are as far
		for r := range p.net.ranks {
			spread.items = append(spread.items, item{source: r, wanted: p.items[class[0]].wanted})
		}
	}
	if r := spread.outOfReach(); r != nil {
		return nil, r, nil
	}
	if sends, room := p.sends(); sends > room*p.Rounds {
		return nil, &Refutation{fmt.Sprintf("%d chunks take at least %d sends, 2(n-1) each where all want them, and the links into all ranks carry %d in %d rounds", len(p.items), sends, room*p.Rounds, p.Rounds)}, nil
	}
	demands := p.sumDemands()
	return p.openSplits(ctx, &splitter{p: p, u: p.net.unroll(p.Steps), demands: demands, order: upTo(len(demands))})
}

// sends returns how many sends the sums take at least, and how many can arrive
// anywhere in a round at most.
func (p *problem) sends() (least, room int) {
	for _, it := range p.items {
		if least += p.net.ranks - 1; len(it.wanted) == p.net.ranks {
			least += p.net.ranks - 1
		}
	}
	for _, l := range p.net.links {
		if int(l.to) < p.net.ranks {
			room += l.capacity
		}
	}
	return least, room
}

// manyPairs is the number of ranks up to which all pairs are examined.
const manyPairs = 16

// sumDemands returns the demands of sums: for each chunk that is wanted at a rank, one chunk
// must come there from every other contributor. If all chunks are wanted everywhere, this
// also covers cuts of sets of ranks, because every set has a rank inside and one outside.
func (p *problem) sumDemands() []demand {
	n := p.net.ranks
	var all []demand
	pairs := make([][]int, 0)
	for _, image := range p.rankImages() {
		becomes := make([]int, n*n)
		for at := range becomes {
			becomes[at] = image[at/n]*n + image[at%n]
		}
		pairs = append(pairs, becomes)
	}
	needs := make([]int64, n) // by rank
	for _, it := range p.items {
		for _, r := range it.wanted {
			needs[r]++
		}
	}
	tried := make([]bool, n*n) // by the first pair of an orbit
	for at, first := range symmetry.Orbits(n*n, pairs) {
		a, b := at/n, at%n
		if b == 0 {
			p.checkDeadline()
		}
		if a == b || tried[first] || n > manyPairs && b != (a+1)%n && !p.farthest(a, b) {
			continue
		}
		tried[first] = true
		d := demand{from: make([]int64, n), into: make([]int64, n), set: []int{a, b}, kind: fromTo, need: needs[b]}
		if d.from[a], d.into[b] = d.need, d.need; d.need > 0 {
			all = append(all, d)
		}
	}
	if p.wantedEverywhere() {
		return all
	}
	p.eachSet(func(in []bool) {
		d := demand{from: make([]int64, n), into: make([]int64, n), kind: intoSet}
		for _, it := range p.items {
			if slices.ContainsFunc(it.wanted, func(r int) bool { return in[r] }) {
				d.need++
			}
		}
		for r := range n {
			if in[r] {
				d.set = append(d.set, r)
				d.into[r] = d.need
			} else {
				d.from[r] = d.need
			}
		}
		if len(d.set) > 0 && len(d.set) < n && d.need > 0 {
			all = append(all, d)
		}
	})
	return all
}

// farthest reports whether b is as far from a as any rank is.
func (p *problem) farthest(a, b int) bool { return p.net.dist[a][b] == slices.Max(p.net.dist[a]) }

// thin drops sends one by one as long as the schedule remains correct.
func (p *problem) thin(s Schedule) Schedule {
	items := p.names()
	for i := range s {
		for j := 0; j < len(s[i].Sends); {
			less := slices.Clone(s)
			less[i].Sends = slices.Delete(slices.Clone(s[i].Sends), j, j+1)
			if Replay(p.Query, p.net.unit, items, less) == nil {
				s = less
			} else {
				j++
			}
		}
	}
	return s
}

// names lists the items as Replay wants them.
func (p *problem) names() []Item {
	var items []Item
	for _, it := range p.items {
		items = append(items, Item{it.source, it.index})
	}
	return items
}
