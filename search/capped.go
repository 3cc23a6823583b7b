package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/program"
)

// capped drafts the built drafts anew for fewer SMs, and builds those that may be fastest for as many,
// by their estimates. A limit that a program can't be made for is no candidate.
func (p *placement) capped(ctx context.Context, drafts []*program.Draft, built []*program.Built) (kept program.Drafted, all []*program.Built, err error) {
	if p.options.Uncapped {
		return kept, nil, nil
	}
	var made []*program.Draft
	var fit []*program.Draft // all that the largest limit leaves, with their threadblocks
	var takes []int
	for i, d := range drafts {
		if built[i] == nil || built[i].Refusal != nil || d.Reference || d.Compared {
			continue
		}
		made = append(made, d)
		if n := built[i].Program.MaxThreadblocks(); n <= slices.Max(table.Caps) {
			fit, takes = append(fit, d), append(takes, n)
		}
	}
	if err := p.Summarize(ctx, made, false); err != nil { // those from the cache are not summed up
		return kept, nil, err
	}
	capped := program.Capped(drafts, built)
	if len(capped) == 0 {
		return kept, nil, nil
	}
	for _, d := range capped {
		fit, takes = append(fit, d), append(takes, d.Threadblocks)
	}
	if err := p.Summarize(ctx, fit, true); err != nil {
		return kept, nil, err
	}
	ratio, at := p.nearest(fit, takes)
	for i, d := range capped {
		n := len(fit) - len(capped) + i
		if ratio[n] > mayBeFastest {
			kept.Refusals = append(kept.Refusals, p.Refuse(d.String(), program.Outranked, fmt.Sprintf("estimated at %.2f times the most promising one's time on %d SMs at %s, where it is nearest", ratio[n], d.Threadblocks, units.Bytes(at[n]))))
			continue
		}
		kept.Drafts = append(kept.Drafts, d)
	}
	first, order := len(drafts), make([]int, len(kept.Drafts))
	for i := range order {
		order[i] = first + i
	}
	all, err = p.BuildAll(ctx, append(drafts[:first:first], kept.Drafts...), order, p.of, p.late(building, 1))
	if err != nil {
		return kept, nil, err
	}
	built, all = all[first:], nil
	left := kept.Drafts[:0]
	for i, d := range kept.Drafts {
		if b := built[i]; b == nil || b.Refusal == nil || b.Refusal.Reason != program.Threadblocks {
			left, all = append(left, d), append(all, b)
		}
	}
	kept.Drafts = left
	return kept, all, nil
}

// mayBeFastest is by how much the estimates of programs alike may be off.
const mayBeFastest = 1.2

// nearest returns, for each draft, which takes takes[i] threadblocks, the least ratio of its estimate and the least
// of the drafts that take no more, by the steps of table.Caps, and the size of that.
func (p *placement) nearest(drafts []*program.Draft, takes []int) (ratio []float64, at []int64) {
	ratio, at = make([]float64, len(drafts)), make([]int64, len(drafts))
	for i := range ratio {
		ratio[i] = math.Inf(1)
	}
	for _, bytes := range p.problem.Sizes {
		us, best := make([]float64, len(drafts)), map[int]float64{} // by class
		for i, d := range drafts {
			us[i] = p.Estimate(d, bytes)
			for _, class := range table.Caps {
				if least, known := best[class]; takes[i] <= class && (!known || us[i] < least) {
					best[class] = us[i]
				}
			}
		}
		for i := range drafts {
			for _, class := range table.Caps {
				if takes[i] > class {
					continue
				}
				if r := us[i] / best[class]; r < ratio[i] {
					ratio[i], at[i] = r, bytes
				}
				break
			}
		}
	}
	return ratio, at
}
