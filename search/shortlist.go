package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/colltune/colltune/internal/units"
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

// estimate returns a draft's expected time in µs at a size in bytes, with the best of
// its protocols.
func (e *enumeration) estimate(d *draft, bytes int64) float64 {
	least := math.Inf(1)
	for _, proto := range e.protocolsOf(d.protocol) {
		least = min(least, d.routing.cost.estimate(&e.problem.Topology.Protocols[proto], bytes, max(d.instances, 1)))
	}
	return least
}

// shortlist keeps the drafts that are worth compiling, if all together have more
// operations than searched: the most promising, of at most the number chosen. It refuses
// the others. Families that the user named are all kept.
func (e *enumeration) shortlist(ctx context.Context, drafts []*draft, searched, chosen int) (drafted, error) {
	if len(e.options.Families) > 0 || operationsOf(drafts) <= searched {
		return drafted{drafts: drafts}, nil
	}
	if err := e.summarizeAll(ctx, drafts, false); err != nil {
		return drafted{}, err
	}
	var fitting []*draft
	var unfit []Refusal
	for _, d := range drafts {
		if r := e.unfitting(d); r != nil {
			unfit = append(unfit, Refusal{d.String(), r.Reason, r.Detail})
			continue
		}
		fitting = append(fitting, d)
	}
	operations := operationsOf(fitting)
	if operations <= searched {
		return drafted{drafts: drafts}, nil
	}
	var short drafted
	for _, r := range unfit {
		short.refusals = append(short.refusals, e.refuse(r.Candidate, r.Reason, r.Detail))
	}
	taken, times, err := e.promising(ctx, fitting, chosen)
	if err != nil {
		return drafted{}, err
	}
	best := make([]float64, len(times)) // by size
	for s := range times {
		best[s] = math.Inf(1)
		for i, d := range fitting {
			if d.routing.cost.whole {
				best[s] = min(best[s], times[s][i])
			}
		}
	}
	for i, d := range fitting {
		if slices.Contains(taken, i) {
			short.drafts = append(short.drafts, d)
			continue
		}
		ratio, at := math.Inf(1), 0
		for s := range times {
			if r := times[s][i] / best[s]; r < ratio {
				ratio, at = r, s
			}
		}
		least := ""
		if !d.routing.cost.whole {
			least = "at least "
		}
		short.refusals = append(short.refusals, e.refuse(d.String(), Outranked, fmt.Sprintf("estimated at %s%.2f times the most promising one's time at %s, where it is nearest: all drafts come to %d operations, and %d are gone through; --family %s takes it",
			least, ratio, units.Bytes(e.problem.Sizes[at]), operations, chosen, d.name)))
	}
	return short, nil
}

// promising chooses among drafts as choose does, and returns the times that it went by: those of
// the drafts that are taken are estimates, and the others' are at most theirs. So few whole
// summaries are needed: of drafts whose messages alone let them be taken before those that
// are known fill the room.
func (e *enumeration) promising(ctx context.Context, drafts []*draft, room int) (taken []int, times [][]float64, err error) {
	const atATime = 12 // enough for all cores; the later ones may not be taken once these are known
	for {
		times = make([][]float64, len(e.problem.Sizes)) // by size and draft
		for s, bytes := range e.problem.Sizes {
			for _, d := range drafts {
				times[s] = append(times[s], e.estimate(d, bytes))
			}
		}
		taken = choose(drafts, times, room)
		var unknown []*draft
		for _, i := range taken {
			d := drafts[i]
			like := func(other *draft) bool { return other.routing == d.routing }
			if !d.routing.cost.whole && len(unknown) < atATime && !slices.ContainsFunc(unknown, like) {
				unknown = append(unknown, d)
			}
		}
		if len(unknown) == 0 {
			return taken, times, nil
		}
		if err := e.summarizeAll(ctx, unknown, true); err != nil {
			return nil, nil, err
		}
	}
}

// summarizeAll computes the costs of routings that are not known yet, whole or those of
// their messages.
func (e *enumeration) summarizeAll(ctx context.Context, drafts []*draft, whole bool) error {
	var rest []*routing
	for i, d := range drafts {
		if (d.routing.cost == nil || whole && !d.routing.cost.whole) && (i == 0 || drafts[i-1].routing != d.routing) {
			rest = append(rest, d.routing)
		}
	}
	var done atomic.Int64
	err := forEachLimited(ctx, e.options.jobs(), len(rest), maxBuilt, func(i int) int64 { return int64(rest[i].operations()) }, func(i int) error {
		err := rest[i].summarize(nil, e.problem.Topology, whole)
		if err == nil && rest[i].key != "" {
			e.saveTrace(rest[i].key, &trace{routing: rest[i]})
		}
		e.options.Observer.stage("estimating candidates", int(done.Add(1)), len(rest))
		return err
	})
	return cmp.Or(err, ctx.Err())
}

func operationsOf(drafts []*draft) int {
	n := 0
	for _, d := range drafts {
		n += d.operations()
	}
	return n
}

// timeBucket rounds a time to 20 %, about what estimates of programs alike scatter by. Of drafts
// in one bucket, the one with the fewest operations is taken.
func timeBucket(us float64) int { return int(math.Floor(math.Log(us) / math.Log(1.2))) }

// choose lets the sizes take drafts in turn, of at most room operations in all: each takes
// the one with the least time there that still fits, and at most maxInstancesPerRouting
// of one routing. times is by size and draft; the result is the indices of those taken, in
// the order in which they are.
func choose(drafts []*draft, times [][]float64, room int) (all []int) {
	taken := make([]bool, len(drafts))
	order := make([][]int, len(times)) // by size: drafts in rising order of time
	like := make([]map[*routing]int, len(times))
	for s := range times {
		like[s] = map[*routing]int{}
		order[s] = make([]int, len(drafts))
		for i := range drafts {
			order[s][i] = i
		}
		slices.SortStableFunc(order[s], func(a, b int) int {
			return cmp.Or(cmp.Compare(timeBucket(times[s][a]), timeBucket(times[s][b])), cmp.Compare(drafts[a].operations(), drafts[b].operations()))
		})
	}
	for range maxPicksPerSize {
		for s := range order {
			for len(order[s]) > 0 {
				i := order[s][0]
				order[s] = order[s][1:]
				d := drafts[i]
				if like[s][d.routing] == maxInstancesPerRouting || !taken[i] && d.operations() > room {
					continue
				}
				like[s][d.routing]++
				if !taken[i] {
					taken[i] = true
					all = append(all, i)
					room -= d.operations()
				}
				break
			}
		}
	}
	return all
}

// unfitting refuses a draft that certainly needs more channels or threadblocks than
// there are, before it is compiled: each connection between two ranks needs a channel, and
// each of a rank in one direction a threadblock.
func (e *enumeration) unfitting(d *draft) *Refusal {
	of, n := d.routing.cost, d.instances
	if most := maxChannels(e.problem.Topology); of.channels*n > most {
		return &Refusal{Reason: Uncompiled, Detail: fmt.Sprintf("at least %d channels in each of %d instances: the limit is %d", of.channels, n, most)}
	}
	if sms := e.problem.Topology.MinSMs(); of.connections*n > sms {
		return &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("at least %d threadblocks on a GPU of %d SMs: %d for each of %d instances", of.connections*n, sms, of.connections, n)}
	}
	return nil
}
