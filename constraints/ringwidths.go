package constraints

import (
	"context"
	"slices"
	"sort"

	"github.com/colltune/colltune/internal/units"
)

// widths lists, widest first, the bandwidths that the narrowest step of some set
// of rings could have: those of edges, divided by the number of rings that take
// them. Widths that counting rules out are omitted, and all once the context is done.
func (p *ringProblem) widths(ctx context.Context) []units.Bandwidth {
	seen := map[units.Bandwidth]bool{}
	for _, table := range [][][]*hop{p.in, p.close} {
		for _, row := range table {
			for _, h := range row {
				if h == nil {
					continue
				}
				for _, e := range h.edges {
					for k := 1; k <= p.shares(e); k++ {
						if w := p.t.Edges[e].Bandwidth / units.Bandwidth(k); w > 0 {
							seen[w] = true
						}
					}
				}
			}
		}
	}
	var list []units.Bandwidth
	for w := range seen {
		list = append(list, w)
	}
	sort.Slice(list, func(i, j int) bool { return list[i] > list[j] })
	return slices.DeleteFunc(list, func(w units.Bandwidth) bool { return ctx.Err() != nil || !p.enough(w) })
}

// enough tells whether counting allows rings whose steps each have a width: every
// rank, and the step that closes a ring, has room for all rings.
func (p *ringProblem) enough(width units.Bandwidth) bool {
	for i := range p.n {
		if out, in := p.room(i, width); p.n > 1 && min(out, in) < p.count {
			return false
		}
	}
	if p.leaving(width) < p.count || p.n > 1 && p.stepsAtMost(width) < p.stepsWanted() {
		return false
	}
	inside, _ := p.narrowest(width)
	return inside == nil
}

// shares is how many times rings may take an edge: a direct link once for each of
// its physical links, and a link of a switch or NIC any number of times.
func (p *ringProblem) shares(e int) int {
	edge := p.t.Edges[e]
	if edge.From < len(p.t.Ranks) && edge.To < len(p.t.Ranks) {
		return min(edge.Count, p.count)
	}
	return p.mostTaken(e)
}

// mostTaken is how many times the rings could take an edge: once each if it
// belongs to a rank, since a ring passes through each rank once, and at every step
// if it is between switches.
func (p *ringProblem) mostTaken(e int) int {
	edge := p.t.Edges[e]
	from, to := edge.From < len(p.t.Ranks), edge.To < len(p.t.Ranks)
	switch {
	case from && to || (from || to) && !p.bothWays:
		return p.count
	case from || to:
		return 2 * p.count
	}
	return p.count * p.n
}

// capacity is how many times rings may take an edge if each gets the given width.
func (p *ringProblem) capacity(e int, width units.Bandwidth) int {
	return int(min(p.t.Edges[e].Bandwidth/width, units.Bandwidth(p.shares(e))))
}
