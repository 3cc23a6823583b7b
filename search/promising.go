package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/templates"
)

// A trace over thousands of ranks takes a second or more, and a family may have hundreds of
// sets of parameters. So where a family's grid is large for the system, its sets are first
// traced on the first nodes of the same system, and only those that are promising there are
// traced in full.
//
//	512 nodes × 198 sets ─▶ 64 nodes × 198 sets ─▶ estimates ─▶ 512 nodes × 16 sets ─▶ estimates ─▶ …
const (
	// maxPairsTraced is how many pairs of ranks the traces of one family come to at most:
	// 16 sets over 2,048 ranks, 256 over 512.
	maxPairsTraced = 1 << 26
	fewestTraced   = 8 // sets that are traced on any system
	// sampleNodes and sampleRanks are the fewest nodes and ranks that sets are ranked on.
	// Of 64 nodes in 16 groups, all algorithms within a group still differ.
	sampleNodes = 64
	sampleRanks = 256
)

// sample returns the enumeration of the problem on the first of its nodes, halved as often as
// they can be; nil if that says nothing of the whole, as where nodes differ or ranks have parts of
// their own.
func (e *enumeration) sample() *enumeration {
	p := *e.problem
	if len(p.Counts) > 0 || p.Custom != nil || !p.Topology.Alike() {
		return nil
	}
	nodes, ranks := p.Topology.Nodes, len(p.Topology.Ranks)
	for nodes%2 == 0 && nodes/2 >= sampleNodes && ranks/2 >= sampleRanks {
		nodes, ranks = nodes/2, ranks/2
	}
	if nodes == p.Topology.Nodes {
		return nil
	}
	p.Topology = p.Topology.FirstNodes(nodes)
	if p.Root >= len(p.Topology.Ranks) {
		return nil
	}
	return &enumeration{problem: &p, options: e.options, machine: machineOf(p.Topology)}
}

// promising divides a family's sets of parameters into those to trace, in the order of the
// grid, and the refusals of the others.
func (e *enumeration) promising(ctx context.Context, f *templates.Family, grid []script.Params) ([]script.Params, []Refusal, error) {
	ranks := len(e.problem.Topology.Ranks)
	most := max(maxPairsTraced/(ranks*ranks), fewestTraced)
	if len(grid) <= most || f.Limited() {
		return grid, nil, nil
	}
	small := e.sample()
	if small == nil {
		return grid, nil, nil
	}
	times, err := small.gridTimes(ctx, f, grid, ranks/len(small.problem.Topology.Ranks))
	if err != nil {
		return nil, nil, err
	}
	taken := takeTurns(times, most)
	var keep []script.Params
	var refused []Refusal
	for i, params := range grid {
		if taken[i] {
			keep = append(keep, params)
			continue
		}
		behind, at := nearest(times, i)
		if math.IsInf(behind, 1) {
			refused = append(refused, Refusal{candidateName(f.Name, params, 0), Threadblocks,
				fmt.Sprintf("no number of instances has room on a GPU or its channels, on %d nodes already", small.problem.Topology.Nodes)})
			continue
		}
		refused = append(refused, Refusal{candidateName(f.Name, params, 0), Outranked,
			fmt.Sprintf("estimated at %.2f times the time of the family's most promising set on %d nodes at %s, where it is nearest: %d of %d sets are traced over %d ranks; fixing its parameters with --param takes it",
				behind, small.problem.Topology.Nodes, units.Bytes(small.sampleSizes(ranks / len(small.problem.Topology.Ranks))[at]), most, len(grid), ranks)})
	}
	return keep, refused, nil
}

// sampleSizes lists the sizes that a sample is estimated at: those of the problem, at which a
// rank moves what it does in the whole system, and those divided by times, the whole's ranks
// for each of the sample's, at which messages have the size that they have there.
func (e *enumeration) sampleSizes(times int) []int64 {
	all := slices.Clone(e.problem.Sizes)
	for _, bytes := range e.problem.Sizes {
		if less := max(bytes/int64(times), 1); !slices.Contains(all, less) {
			all = append(all, less)
		}
	}
	return all
}

// gridTimes returns the estimated times in µs of sets of parameters, with the best number of
// instances that fits, infinite if none does, by sample size and set. A set that cannot be
// traced here takes no time: only the whole system tells.
func (e *enumeration) gridTimes(ctx context.Context, f *templates.Family, grid []script.Params, times int) ([][]float64, error) {
	sizes := e.sampleSizes(times)
	all := make([][]float64, len(sizes))
	for s := range all {
		all[s] = make([]float64, len(grid))
	}
	ranks := int64(len(e.problem.Topology.Ranks))
	err := forEachLimited(ctx, e.options.jobs(), len(grid), e.traceLimit(), func(int) int64 { return ranks * ranks }, func(i int) error {
		program, err := e.trace(f, grid[i])
		if err != nil {
			return nil // refused here, where the whole system may take it
		}
		of := &routing{cost: summarize(program, e.problem.Topology)}
		for s, bytes := range sizes {
			all[s][i] = math.Inf(1)
			for _, n := range e.options.instanceCounts() {
				if d := (&draft{instances: n, routing: of}); e.unfitting(d) == nil {
					all[s][i] = min(all[s][i], e.estimate(d, bytes))
				}
			}
		}
		return nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return all, err
}

// takeTurns lets the sizes take sets in turn, each the one with the least time there that is
// not taken yet, n in all; sets of no time are all taken, and those that never end are not.
// times is by size and set.
func takeTurns(times [][]float64, n int) []bool {
	taken, order := make([]bool, len(times[0])), make([][]int, len(times))
	for s := range times {
		for i, us := range times[s] {
			switch {
			case us > 0 && !math.IsInf(us, 1):
				order[s] = append(order[s], i)
			case us == 0 && !taken[i]:
				taken[i] = true
				n--
			}
		}
		slices.SortStableFunc(order[s], func(a, b int) int { return timeBucket(times[s][a]) - timeBucket(times[s][b]) })
	}
	for left := true; left && n > 0; {
		left = false
		for s := range order {
			for len(order[s]) > 0 && taken[order[s][0]] {
				order[s] = order[s][1:]
			}
			if len(order[s]) > 0 && n > 0 {
				taken[order[s][0]], left = true, true
				n--
			}
		}
	}
	return taken
}

// nearest returns the least ratio of a set's time to the best one's at any size, and which.
func nearest(times [][]float64, i int) (ratio float64, size int) {
	ratio = math.Inf(1)
	for s := range times {
		best := math.Inf(1)
		for _, us := range times[s] {
			if us > 0 {
				best = min(best, us)
			}
		}
		if r := times[s][i] / best; r < ratio {
			ratio, size = r, s
		}
	}
	return ratio, size
}
