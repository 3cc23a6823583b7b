package synth

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
)

// Refutation is a proof, found without a solver, that no routing answers a query.
type Refutation struct {
	Reason string // in a sentence
}

// outOfReach finds a chunk that cannot reach a rank in the number of steps.
func (p *problem) outOfReach() *Refutation {
	for i := range p.items {
		it := &p.items[i]
		for _, r := range it.destinations() {
			switch d := p.net.dist[it.source][r]; {
			case d < 0:
				return &Refutation{p.describeNoPath(it.source, r)}
			case int(d) > p.Steps:
				return &Refutation{fmt.Sprintf("rank %d is %d sends away from rank %d, and there are no more than %s", r, d, it.source, plural(p.Steps, "step"))}
			}
		}
	}
	return nil
}

// describeNoPath says that one rank cannot reach another, and which unit would change that.
func (p *problem) describeNoPath(from, to int) string {
	why := fmt.Sprintf("no way leads from rank %d to rank %d", from, to)
	if p.net.dropped > 0 {
		why += fmt.Sprintf(": a link of less than %v, the unit, carries no chunk in a round: want a unit of at most %v", p.net.unit, p.widestUnit())
	}
	return why
}

// widestUnit returns the largest unit of bandwidth at which no rank loses its paths to
// another.
func (p *problem) widestUnit() units.Bandwidth {
	var widths []units.Bandwidth
	for _, e := range p.Topology.Edges {
		widths = append(widths, e.Bandwidth)
	}
	slices.Sort(widths)
	widths = slices.Compact(widths)
	ways := func(unit units.Bandwidth) (count int) {
		net, err := newNetwork(p.ctx, p.Topology, unit)
		if err != nil {
			return 0
		}
		for _, from := range net.dist {
			for _, d := range from {
				if d >= 0 {
					count++
				}
			}
		}
		return count
	}
	all := ways(widths[0])
	return widths[sort.Search(len(widths), func(i int) bool { return ways(widths[i]) < all })-1]
}

// splitter applies the flow bound to splits of the rounds among the steps.
type splitter struct {
	p       *problem
	u       *unrolled
	demands []demand
	order   []int // demands, the one that failed last first
	work    int   // arcs of all flows so far
}

// maxFlowWork limits the work on a query's flows to about a second. Splits not examined by
// then stay open.
const maxFlowWork = 100_000_000

func (p *problem) splitter() *splitter {
	demands := p.demands()
	return &splitter{p: p, u: p.net.unroll(p.Steps), demands: demands, order: lists.UpTo(len(demands))}
}

// refute returns the first demand that is infeasible in a split of the rounds, if one is
// found before the context ends.
func (s *splitter) refute(ctx context.Context, rounds []int) *demand {
	s.u.setRounds(rounds)
	for i, at := range s.order {
		if ctx.Err() != nil {
			return nil
		}
		s.work += s.u.steps * (len(s.u.net.links) + s.u.net.ranks)
		if d := &s.demands[at]; !s.u.feasible(d) {
			copy(s.order[1:i+1], s.order[:i])
			s.order[0] = at
			return d
		}
	}
	return nil
}

// maxSplits is the number of splits up to which they are examined one by one.
const maxSplits = 3000

// splits lists the ways to split rounds among steps in lexicographic order, or nil if there
// are more than maxSplits.
func splits(steps, rounds int) [][]int {
	count := 1
	for k := 1; k < steps; k++ { // binomial coefficient: rounds-1 over steps-1
		count = count * (rounds - k) / k
		if count > maxSplits {
			return nil
		}
	}
	var all [][]int
	now := make([]int, steps)
	var fill func(at, left int)
	fill = func(at, left int) {
		if at == steps-1 {
			now[at] = left
			all = append(all, append([]int(nil), now...))
			return
		}
		for n := 1; n <= left-(steps-1-at); n++ {
			now[at] = n
			fill(at+1, left-n)
		}
	}
	fill(0, rounds)
	return all
}

// bound returns the splits that no flow refutes, or why there are none. If there are too many
// to examine, open is nil, and refuted is a refutation of all of them, or nil. The error is
// the context's.
func (p *problem) bound(ctx context.Context) (open [][]int, refuted *Refutation, err error) {
	if r := p.outOfReach(); r != nil {
		return nil, r, nil
	}
	return p.openSplits(ctx, p.splitter())
}

// openSplits is bound after the check of distances.
func (p *problem) openSplits(ctx context.Context, s *splitter) (open [][]int, refuted *Refutation, err error) {
	open, refuted = p.openUntil(ctx, s)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return open, refuted, nil
}

// openUntil is openSplits without the check of the context: if it has ended, the result is
// invalid.
func (p *problem) openUntil(ctx context.Context, s *splitter) (open [][]int, refuted *Refutation) {
	all := splits(p.Steps, p.Rounds)
	if all == nil {
		most := make([]int, p.Steps) // the most rounds that any step can have
		for i := range most {
			most[i] = p.Rounds - p.Steps + 1
		}
		if d := s.refute(ctx, most); d != nil {
			return nil, &Refutation{p.describe(d)}
		}
		return nil, p.refuteAllSplits(ctx, s.demands)
	}
	var last *demand
	for _, rounds := range all {
		if ctx.Err() != nil {
			return open, nil
		}
		if s.work > maxFlowWork {
			open = append(open, rounds)
		} else if d := s.refute(ctx, rounds); d != nil {
			last = d
		} else {
			open = append(open, rounds)
		}
	}
	if len(open) > 0 {
		return open, nil
	}
	text := p.describe(last)
	if len(all) > 1 {
		text = fmt.Sprintf("however the %d rounds are split among %s: %s, or the like", p.Rounds, plural(p.Steps, "step"), text)
	}
	return nil, &Refutation{text}
}

// refuteAllSplits refutes all splits at once by the capacity of links in all rounds together:
// those of one step with all rounds, in which chunks can take paths of any length.
func (p *problem) refuteAllSplits(ctx context.Context, demands []demand) *Refutation {
	one := *p
	one.Steps = 1
	s := &splitter{p: &one, u: p.net.singleStep(), demands: demands, order: lists.UpTo(len(demands))}
	if d := s.refute(ctx, []int{p.Rounds}); d != nil {
		return &Refutation{p.describe(d)}
	}
	return nil
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
	return p.openSplits(ctx, &splitter{p: p, u: p.net.unroll(p.Steps), demands: demands, order: lists.UpTo(len(demands))})
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

func (p *problem) describe(d *demand) string {
	chunks := plural(d.need, "chunk")
	within := fmt.Sprintf("in %s of %s", plural(p.Steps, "step"), plural(p.Rounds, "round"))
	switch d.kind {
	case intoRank:
		return fmt.Sprintf("the %s for rank %d can't all reach it %s", chunks, d.set[0], within)
	case fromTo:
		return fmt.Sprintf("what rank %d contributes to the %s can't all reach rank %d %s", d.set[0], chunks, d.set[1], within)
	case outOf:
		return fmt.Sprintf("the %s of rank %d can't all reach the others %s", chunks, d.set[0], within)
	}
	return fmt.Sprintf("the %s that must come into ranks %s can't all %s", chunks, strings.Trim(fmt.Sprint(d.set), "[]"), within)
}

// plural prints a number with its noun.
func plural[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
