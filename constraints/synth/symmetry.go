package synth

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints/symmetry"
	"github.com/colltune/colltune/internal/lists"
)

// automorphism is a permutation of the ranks that preserves the problem: lanes map to lanes
// over links of the same capacity that are shared in the same way, and chunks to chunks that
// are wanted in the same way.
type automorphism struct {
	ranks   []int   // by rank: its image
	lanes   []int32 // by lane: its image
	classes []int   // by class of items: its image
}

// symmetryWork limits the search for automorphisms to some hundredths of a second.
const symmetryWork = 10_000_000

// symmetryRanks is the largest system, in ranks, whose automorphisms are looked for.
const symmetryRanks = 64

// automorphisms returns generators of a problem's automorphism group, or of a subgroup if the
// work limit is met.
func (p *problem) automorphisms() []automorphism {
	if p.automorphismCache == nil {
		all := p.findAutomorphisms()
		p.automorphismCache = &all
	}
	return *p.automorphismCache
}

func (p *problem) findAutomorphisms() (all []automorphism) {
	if p.net.ranks > symmetryRanks {
		return nil
	}
	found := symmetry.Find(p.ctx, p.graph(), symmetryWork)
	if p.ctx.Err() != nil {
		return nil // rather than a part of the group
	}
	for _, image := range found.Generators {
		r := automorphism{ranks: image[:p.net.ranks]}
		if p.mapLanes(&r) && p.mapClasses(&r) && !isIdentity(r.ranks) {
			all = append(all, r)
		}
	}
	return all
}

func isIdentity(image []int) bool {
	for v, w := range image {
		if v != w {
			return false
		}
	}
	return true
}

// graph returns the problem as a coloured graph. It has a vertex for every rank and every
// link that lanes share, and arcs for lanes with their capacities, for the use of links by
// lanes, and for the chunks that a rank wants of another.
func (p *problem) graph() *symmetry.Graph {
	n := p.net
	number := map[string]int{} // colours, in order of appearance
	colour := func(name string) int {
		if _, ok := number[name]; !ok {
			number[name] = len(number)
		}
		return number[name]
	}
	wants := map[[2]int]string{} // by pair of ranks: what one wants of the other, and who else does
	sums := make([]int, n.ranks) // by rank: sums that it wants
	for _, class := range p.classes {
		it := &p.items[class[0]]
		for _, r := range it.wanted {
			if it.source < 0 {
				sums[r] += len(class)
			} else {
				wants[[2]int{it.source, r}] += fmt.Sprintf(" %d×%d", len(class), len(it.wanted))
			}
		}
	}
	var colours []int
	for _, count := range sums {
		colours = append(colours, colour(fmt.Sprintf("rank, %d sums", count)))
	}
	shared := map[int32]int{} // by link: its vertex
	for e, l := range n.links {
		if len(l.lanes) > 1 {
			shared[int32(e)] = len(colours)
			colours = append(colours, colour(fmt.Sprintf("link of %d", l.capacity)))
		}
	}
	g := symmetry.NewGraph(colours)
	for a := range n.ranks {
		for b := range n.ranks {
			name := wants[[2]int{a, b}]
			if l := n.lane(a, b); l >= 0 {
				for _, e := range n.lanes[l].links {
					name += fmt.Sprintf(" %d", n.links[e].capacity)
				}
				name += " lane"
			}
			if name != "" {
				g.Arc(a, b, colour(name))
			}
		}
	}
	for _, l := range n.lanes {
		for i, e := range l.links {
			if v, ok := shared[e]; ok {
				at := colour(fmt.Sprintf("link %d of %d", i, len(l.links)))
				g.Arc(int(l.from), v, at)
				g.Arc(v, int(l.to), at)
			}
		}
	}
	return g
}

// mapLanes determines the images of lanes and links. It returns false if the permutation is
// not an automorphism.
func (p *problem) mapLanes(r *automorphism) bool {
	n := p.net
	r.lanes = make([]int32, len(n.lanes))
	links := make([]int32, len(n.links))
	for e := range links {
		links[e] = -1
	}
	for i, l := range n.lanes {
		at := n.lane(r.ranks[l.from], r.ranks[l.to])
		if at < 0 || len(n.lanes[at].links) != len(l.links) {
			return false
		}
		r.lanes[i] = at
		for k, e := range l.links {
			f := n.lanes[at].links[k]
			if links[e] < 0 {
				links[e] = f
			}
			if links[e] != f || n.links[e].capacity != n.links[f].capacity || len(n.links[e].lanes) != len(n.links[f].lanes) {
				return false
			}
		}
	}
	return true
}

// mapClasses determines the images of classes of items. It returns false if the permutation
// is not an automorphism.
func (p *problem) mapClasses(r *automorphism) bool {
	key := func(source int, wanted []int) string { return fmt.Sprint(source, wanted) }
	number := map[string]int{}
	for i, class := range p.classes {
		it := &p.items[class[0]]
		number[key(it.source, it.wanted)] = i
	}
	for _, class := range p.classes {
		it := &p.items[class[0]]
		source := it.source
		if source >= 0 {
			source = r.ranks[source]
		}
		wanted := make([]int, len(it.wanted))
		for i, w := range it.wanted {
			wanted[i] = r.ranks[w]
		}
		slices.Sort(wanted)
		at, ok := number[key(source, wanted)]
		if !ok || len(p.classes[at]) != len(class) {
			return false
		}
		r.classes = append(r.classes, at)
	}
	return true
}

// linksAlike groups the links that automorphisms map to each other, without those
// whose capacity is implied by others'.
func (p *problem) linksAlike(automorphisms []automorphism) [][]int {
	var images [][]int
	for _, r := range automorphisms {
		image := lists.UpTo(len(p.net.links))
		for i, l := range p.net.lanes {
			for k, e := range l.links {
				image[e] = int(p.net.lanes[r.lanes[i]].links[k])
			}
		}
		images = append(images, image)
	}
	orbits := make([][]int, len(p.net.links))
	for e, first := range symmetry.Orbits(len(p.net.links), images) {
		orbits[first] = append(orbits[first], e)
	}
	tight := p.net.undominated()
	return slices.DeleteFunc(orbits, func(links []int) bool {
		return !slices.ContainsFunc(links, func(e int) bool { return slices.Contains(tight, int32(e)) })
	})
}
