package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/program"
)

// A search compiles every draft, unless all together have more operations than can be
// compiled and tried in reasonable time, as on a large system. Then the sizes take turns:
// each picks the draft with the least estimated time there, until the operations chosen
// reach a limit.
//
//	            1K    2K   …   1G
//	1st  turn   a ✓   a        r ✓       taken: a, r, b, q, c, …
//	2nd  turn   b ✓   c ✓      q ✓       refused: those that no size took
const (
	maxSearched            = 1 << 23 // operations; an allreduce on eight nodes of a DGX A100 has 7.3 million
	maxChosen              = 1 << 22 // operations of the drafts that are chosen if there are more
	maxPicksPerSize        = 64      // drafts that a size may take
	maxInstancesPerRouting = 2       // how many of them may be one routing with different numbers of instances
)

// shortlist keeps the drafts that are worth compiling, if all together have more
// operations than searched: the most promising, of at most the number chosen. It refuses
// the others. Families that the user named are all kept.
func (p *placement) shortlist(ctx context.Context, drafts []*program.Draft, searched, chosen int) (program.Drafted, error) {
	if len(p.options.Families) > 0 || program.OperationsOf(drafts) <= searched {
		return program.Drafted{Drafts: drafts}, nil
	}
	if err := p.Summarize(ctx, drafts, false); err != nil {
		return program.Drafted{}, err
	}
	var fitting []*program.Draft
	var unfit []program.Refusal
	for _, d := range drafts {
		if r := p.Unfitting(d); r != nil {
			unfit = append(unfit, program.Refusal{Candidate: d.String(), Reason: r.Reason, Detail: r.Detail})
			continue
		}
		fitting = append(fitting, d)
	}
	operations := program.OperationsOf(fitting)
	if operations <= searched {
		return program.Drafted{Drafts: drafts}, nil
	}
	var short program.Drafted
	for _, r := range unfit {
		short.Refusals = append(short.Refusals, p.Refuse(r.Candidate, r.Reason, r.Detail))
	}
	taken, times, err := p.promising(ctx, fitting, chosen)
	if err != nil {
		return program.Drafted{}, err
	}
	best := make([]float64, len(times)) // by size
	for s := range times {
		best[s] = math.Inf(1)
		for i, d := range fitting {
			if d.Routing.Cost().Whole {
				best[s] = min(best[s], times[s][i])
			}
		}
	}
	for i, d := range fitting {
		if slices.Contains(taken, i) {
			short.Drafts = append(short.Drafts, d)
			continue
		}
		ratio, at := math.Inf(1), 0
		for s := range times {
			if r := times[s][i] / best[s]; r < ratio {
				ratio, at = r, s
			}
		}
		least := ""
		if !d.Routing.Cost().Whole {
			least = "at least "
		}
		short.Refusals = append(short.Refusals, p.Refuse(d.String(), program.Outranked, fmt.Sprintf("estimated at %s%.2f times the most promising one's time at %s, where it is nearest: all drafts come to %d operations, and %d are gone through; --family %s takes it",
			least, ratio, units.Bytes(p.problem.Sizes[at]), operations, chosen, d.Name)))
	}
	return short, nil
}

// promising chooses among drafts as choose does, and returns the times that it went by: those of
// the drafts that are taken are estimates, and the others' are at most theirs. So few whole
// summaries are needed: of drafts whose messages alone let them be taken before those that
// are known fill the room.
func (p *placement) promising(ctx context.Context, drafts []*program.Draft, room int) (taken []int, times [][]float64, err error) {
	const atATime = 12 // enough for all cores; the later ones may not be taken once these are known
	for {
		times = make([][]float64, len(p.problem.Sizes)) // by size and draft
		for s, bytes := range p.problem.Sizes {
			for _, d := range drafts {
				times[s] = append(times[s], p.Estimate(d, bytes))
			}
		}
		taken = choose(drafts, times, room)
		var unknown []*program.Draft
		for _, i := range taken {
			d := drafts[i]
			like := func(other *program.Draft) bool { return other.Routing == d.Routing }
			if !d.Routing.Cost().Whole && len(unknown) < atATime && !slices.ContainsFunc(unknown, like) {
				unknown = append(unknown, d)
			}
		}
		if len(unknown) == 0 {
			return taken, times, nil
		}
		if err := p.Summarize(ctx, unknown, true); err != nil {
			return nil, nil, err
		}
	}
}

// timeBucket rounds a time to 20 %, about what estimates of programs alike scatter by. Of drafts
// in one bucket, the one with the fewest operations is taken.
func timeBucket(us float64) int { return int(math.Floor(math.Log(us) / math.Log(1.2))) }

// choose lets the sizes take drafts in turn, of at most room operations in all: each takes
// the one with the least time there that still fits, and at most maxInstancesPerRouting
// of one routing. times is by size and draft; the result is the indices of those taken, in
// the order in which they are.
func choose(drafts []*program.Draft, times [][]float64, room int) (all []int) {
	taken := make([]bool, len(drafts))
	order := make([][]int, len(times)) // by size: drafts in rising order of time
	like := make([]map[*program.Routing]int, len(times))
	for s := range times {
		like[s] = map[*program.Routing]int{}
		order[s] = make([]int, len(drafts))
		for i := range drafts {
			order[s][i] = i
		}
		slices.SortStableFunc(order[s], func(a, b int) int {
			return cmp.Or(cmp.Compare(timeBucket(times[s][a]), timeBucket(times[s][b])), cmp.Compare(drafts[a].Operations(), drafts[b].Operations()))
		})
	}
	for range maxPicksPerSize {
		for s := range order {
			for len(order[s]) > 0 {
				i := order[s][0]
				order[s] = order[s][1:]
				d := drafts[i]
				if like[s][d.Routing] == maxInstancesPerRouting || !taken[i] && d.Operations() > room {
					continue
				}
				like[s][d.Routing]++
				if !taken[i] {
					taken[i] = true
					all = append(all, i)
					room -= d.Operations()
				}
				break
			}
		}
	}
	return all
}
