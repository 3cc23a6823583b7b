package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
)

type worth struct {
	program.Drafted // the library's choices last
	library         *library.Library
	times           []library.Time          // of the library
	timeless        map[*program.Draft]bool // refused, and nothing else gives their times
	settled         settled                 // the library's settings
}

// order is the order in which drafts are built. If there may not be time for all, those for
// comparison come first. Then the sizes take turns: each takes the draft with the least
// estimated time there, of those that may fit on a GPU, as long as there is one.
func (p *placement) order(drafts []*program.Draft) []int {
	order := make([]int, 0, len(drafts))
	var rest []int
	for i, d := range drafts {
		if p.expired == nil || d.Compared {
			order = append(order, i)
		} else {
			rest = append(rest, i)
		}
	}
	var bySize [][]int // drafts in rising order of time
	for _, bytes := range p.problem.Sizes {
		times, sorted := make([]float64, len(drafts)), slices.Clone(rest)
		for _, i := range rest {
			times[i] = p.Estimate(drafts[i], bytes)
			if p.Unfitting(drafts[i]) != nil {
				times[i] = math.Inf(1)
			}
		}
		slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
		bySize = append(bySize, sorted)
	}
	taken := make([]bool, len(drafts))
	for turn := range len(rest) {
		for _, sorted := range bySize {
			if i := sorted[turn]; !taken[i] {
				taken[i] = true
				order = append(order, i)
			}
		}
	}
	return order
}

// collect sorts built drafts into candidates and refusals, in the order of the drafts.
// Drafts with the same program become one candidate in the place of the first, with the simplest
// name and the library's times of all.
func (p *placement) collect(chosen worth, all []*program.Built) *Space {
	space := &Space{}
	refuse := func(d *program.Draft, reason program.Reason, detail string) {
		space.Refusals = append(space.Refusals, p.Refuse(d.String(), reason, detail))
	}
	seen, named := map[string]int{}, simplest(chosen.Drafts, all) // by hash: index of the candidate
	for i, d := range chosen.Drafts {
		switch b := all[i]; {
		case b == nil: // there was no time to build it
			space.unexplored = append(space.unexplored, program.Unexplored{Name: d.Name, N: 1})
		case b.Refusal != nil:
			if chosen.timeless[d] {
				p.options.Observer.Say(fmt.Sprintf("baseline %s cannot be run: %s: %s", d, b.Refusal.Reason, b.Refusal.Detail))
			}
			if b.Refusal.Reason == program.Threadblocks && !d.Reference {
				space.needs(table.SMs(b.Needs))
			}
			if !d.Reference {
				refuse(d, b.Refusal.Reason, b.Refusal.Detail)
			}
		default:
			at, known := seen[b.Hash]
			if !known {
				at = len(space.Candidates)
				seen[b.Hash] = at
				space.Candidates = append(space.Candidates, p.candidate(named[b.Hash], b))
			}
			c := &space.Candidates[at]
			c.Reference = c.Reference && d.Reference
			space.compare(c, d, chosen.times, p.problem.InPlace)
			if d != named[b.Hash] && !d.Reference {
				refuse(d, program.Duplicate, "the same program as "+program.CandidateName(c.Algorithm, c.Parameters, c.Instances))
			}
		}
	}
	return space
}

// simplest returns which of the drafts of a program has the name that says it, by hash: the first,
// or one of another family with fewer parameters. Bruck's algorithm with a radix of all ranks is the
// direct one.
func simplest(drafts []*program.Draft, all []*program.Built) map[string]*program.Draft {
	named := map[string]*program.Draft{}
	for i, d := range drafts {
		if all[i] == nil || all[i].Refusal != nil {
			continue
		}
		first := named[all[i].Hash]
		if first == nil || d.Name != first.Name && d.Protocol == first.Protocol && len(program.Set(d.Params)) < len(program.Set(first.Params)) {
			named[all[i].Hash] = d
		}
	}
	return named
}

// candidate converts a built draft for autotune, all but the library's times.
func (p *placement) candidate(d *program.Draft, b *program.Built) autotune.Candidate {
	protocols := p.options.Protocols
	if d.Protocol != "" {
		protocols = p.Protocols(d.Protocol)
	}
	return autotune.Candidate{
		Algorithm:   d.Name,
		Source:      d.Source,
		Parameters:  d.Parameters(b),
		Channels:    b.Program.Channels() / max(d.Instances, 1),
		Instances:   d.Instances,
		Program:     b.Program,
		Hash:        b.Hash,
		SlotsNeeded: b.Slots,
		Bound:       b.Bound,
		Protocols:   protocols,
		Reference:   d.Reference,
	}
}
