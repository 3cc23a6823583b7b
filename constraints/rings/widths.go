package rings

import (
	"context"
	"maps"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// widths lists, widest first, the bandwidths that the narrowest step of a set of rings
// can have: those of edges, divided by the number of rings that use them. Widths that
// counting rules out are left out. Once the context has ended, so are all.
func (p *problem) widths(ctx context.Context) []units.Bandwidth {
	seen := map[units.Bandwidth]bool{}
	for _, table := range [][][]*hop{p.within, p.closing} {
		for _, row := range table {
			for _, h := range row {
				if h == nil {
					continue
				}
				for _, e := range h.edges {
					for k := 1; k <= p.maxShares(e); k++ {
						if w := p.t.Edges[e].Bandwidth / units.Bandwidth(k); w > 0 {
							seen[w] = true
						}
					}
				}
			}
		}
	}
	list := slices.Sorted(maps.Keys(seen))
	slices.Reverse(list)
	return slices.DeleteFunc(list, func(w units.Bandwidth) bool { return ctx.Err() != nil || p.refuteByCounts(w) != "" })
}

// maxShares returns how often rings may use an edge: a direct link once for each of its
// physical links, a link of a switch or NIC any number of times.
func (p *problem) maxShares(e int) int {
	edge := p.t.Edges[e]
	if edge.From < len(p.t.Ranks) && edge.To < len(p.t.Ranks) {
		return min(edge.Count, p.count)
	}
	return p.maxUses(e)
}

// maxUses returns how often the rings could use an edge if it were wide enough: once
// each if it belongs to a rank, since a ring passes through each rank once, and at
// every step if it is between switches.
func (p *problem) maxUses(e int) int {
	edge := p.t.Edges[e]
	if edge.From < len(p.t.Ranks) || edge.To < len(p.t.Ranks) {
		return p.count
	}
	return p.count * p.n
}

// capacity returns how often rings may use an edge if each use has the given width.
func (p *problem) capacity(e int, width units.Bandwidth) int {
	return int(min(p.t.Edges[e].Bandwidth/width, units.Bandwidth(p.maxShares(e))))
}
