package route

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Refutation is a reason, found without a solver, why no routing answers a query.
type Refutation struct {
	Reason string // in a sentence
}

// distant finds a chunk that can't reach a rank in the number of steps.
func (p *problem) distant() *Refutation {
	for i := range p.items {
		it := &p.items[i]
		for _, r := range it.elsewhere() {
			switch d := p.net.dist[it.source][r]; {
			case d < 0:
				return &Refutation{p.noWay(it.source, r)}
			case int(d) > p.Steps:
				return &Refutation{fmt.Sprintf("rank %d is %d sends away from rank %d, and there are no more than %s", r, d, it.source, many(p.Steps, "step"))}
			}
		}
	}
	return nil
}

// noWay says that one rank can't reach another, and which unit would change that.
func (p *problem) noWay(from, to int) string {
	why := fmt.Sprintf("no way leads from rank %d to rank %d", from, to)
	if p.net.dropped > 0 {
		why += fmt.Sprintf(": a link of less than %v, the unit, carries no chunk in a round: want a unit of at most %v", p.net.unit, p.widestUnit())
	}
	return why
}

// widestUnit is the largest unit of bandwidth at which no rank loses a way to
// another.
func (p *problem) widestUnit() units.Bandwidth {
	var widths []units.Bandwidth
	for _, e := range p.Topology.Edges {
		widths = append(widths, e.Bandwidth)
	}
	slices.Sort(widths)
	widths = slices.Compact(widths)
	ways := func(unit units.Bandwidth) (count int) {
		net, err := newNetwork(p.Topology, unit, p.until)
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

// splitter applies the flow bound to one split of the rounds among the steps after
// another.
type splitter struct {
	p       *problem
	u       *unrolled
	demands []demand
	order   []int // demands, the one that failed last first
	work    int   // arcs of all flows so far
}

// maxWork limits the work on a query's flows to about a second. Splits not
// examined by then stay open.
const maxWork = 100_000_000

func (p *problem) splitter() *splitter {
	demands := p.demands()
	return &splitter{p: p, u: p.net.unroll(p.Steps), demands: demands, order: rising(len(demands))}
}

// refute returns the first demand that a split of the rounds can't meet, if one is
// found before the context ends.
func (s *splitter) refute(ctx context.Context, rounds []int) *demand {
	s.u.split(rounds)
	for i, at := range s.order {
		if ctx.Err() != nil {
			return nil
		}
		s.work += s.u.steps * (len(s.u.net.links) + s.u.net.ranks)
		if d := &s.demands[at]; !s.u.met(d) {
			copy(s.order[1:i+1], s.order[:i])
			s.order[0] = at
			return d
		}
	}
	return nil
}

// maxSplits is the number of splits up to which they are examined one by one.
const maxSplits = 3000

// splits lists the ways to split rounds among steps, or nil if there are too many.
// Even splits come first, and of these the ones that give later steps more rounds.
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

// bound returns the splits that no flow excludes, or why there are none. If there
// are too many to examine, open is nil, and the refutation is one that covers all
// of them, or nil. The error is the context's.
func (p *problem) bound(ctx context.Context) (open [][]int, refuted *Refutation, err error) {
	if r := p.distant(); r != nil {
		return nil, r, nil
	}
	return p.openSplits(ctx, p.splitter())
}

// openSplits is the part of bound that examines splits.
func (p *problem) openSplits(ctx context.Context, s *splitter) (open [][]int, refuted *Refutation, err error) {
	open, refuted = p.openUntil(ctx, s)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return open, refuted, nil
}

// openUntil is openSplits, whose result is worthless once the context is over.
func (p *problem) openUntil(ctx context.Context, s *splitter) (open [][]int, refuted *Refutation) {
	all := splits(p.Steps, p.Rounds)
	if all == nil {
		most := make([]int, p.Steps) // the most rounds that any step can have
		for i := range most {
			most[i] = p.Rounds - p.Steps + 1
		}
		if d := s.refute(ctx, most); d != nil {
			return nil, &Refutation{p.tell(d)}
		}
		return nil, p.whole(ctx, s.demands)
	}
	var last *demand
	for _, rounds := range all {
		if ctx.Err() != nil {
			return open, nil
		}
		if s.work > maxWork {
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
	text := p.tell(last)
	if len(all) > 1 {
		text = fmt.Sprintf("however the %d rounds are split among %s: %s, or the like", p.Rounds, many(p.Steps, "step"), text)
	}
	return nil, &Refutation{text}
}

// whole bounds the rounds by what links carry in all rounds together: as if there
// were one step with all rounds, in which every path is short enough.
func (p *problem) whole(ctx context.Context, demands []demand) *Refutation {
	one := *p
	one.Steps = 1
	s := &splitter{p: &one, u: p.net.whole(), demands: demands, order: rising(len(demands))}
	if d := s.refute(ctx, []int{p.Rounds}); d != nil {
		return &Refutation{p.tell(d)}
	}
	return nil
}

// tell describes a demand that is not met.
func (p *problem) tell(d *demand) string {
	chunks := many(d.need, "chunk")
	within := fmt.Sprintf("in %s of %s", many(p.Steps, "step"), many(p.Rounds, "round"))
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

// many prints a number with its noun.
func many[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
