package route

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/symmetry"
)

// renaming renames ranks without changing the problem: lanes become lanes over
// links of the same width that are shared in the same way, and chunks become
// chunks that are wanted in the same way.
type renaming struct {
	ranks   []int
	lanes   []int32 // by lane: its image
	classes []int   // by class of items: its image
}

// symmetryWork limits the search for renamings to some hundredths of a second.
const symmetryWork = 10_000_000

// symmetryRanks is the largest system whose renamings are looked for.
const symmetryRanks = 64

// renamings returns generators of the group of a problem's renamings, or of a part
// of it if finding all takes too much work.
func (p *problem) renamings() []renaming {
	if p.alike == nil {
		all := p.findRenamings()
		p.alike = &all
	}
	return *p.alike
}

func (p *problem) findRenamings() (all []renaming) {
	if p.net.ranks > symmetryRanks {
		return nil
	}
	found := symmetry.Find(p.context(), p.graph(), symmetryWork)
	p.look() // if time is up, do not return a part of the group
	for _, image := range found.Generators {
		r := renaming{ranks: image[:p.net.ranks]}
		if p.renameLanes(&r) && p.renameClasses(&r) && !identity(r.ranks) {
			all = append(all, r)
		}
	}
	return all
}

func identity(image []int) bool {
	for v, w := range image {
		if v != w {
			return false
		}
	}
	return true
}

// graph has a vertex for every rank and every link that lanes share. Its arcs show
// the lanes with their widths, whose lanes use a link, and who wants what from
// whom.
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

// renameLanes determines the images of lanes and links. It returns false if one
// has an image unlike itself.
func (p *problem) renameLanes(r *renaming) bool {
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

// renameClasses determines the images of classes of items.
func (p *problem) renameClasses(r *renaming) bool {
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

// breakSymmetry admits only one of the routings that differ in names, the
// lexicographically largest. Chunks of a class are ordered by what the first step
// sends of them. The amount of a class that the first step sends over each lane
// does not depend on that order, so the rows of these amounts are compared with
// their images under renamings.
func (e *direct) breakSymmetry() {
	p := e.p
	sends := make([][][]constraints.Lit, len(p.classes)) // by class and lane: how many are added, and how many replace
	for i, class := range p.classes {
		var last []constraints.Lit
		for at, x := range class {
			var row []constraints.Lit
			for l := range p.net.lanes {
				row = append(row, e.adds[x][l][0], e.puts[x][l][0])
			}
			if at > 0 {
				notAfter(e.f, last, row)
			}
			last = row
		}
		for l := range p.net.lanes {
			var adds, puts []constraints.Lit
			for _, x := range class {
				adds, puts = append(adds, e.adds[x][l][0]), append(puts, e.puts[x][l][0])
			}
			sends[i] = append(sends[i], append(unary(e.f, adds), unary(e.f, puts)...))
		}
	}
	for _, r := range p.renamings() {
		var before, after []constraints.Lit
		for i := range sends {
			for lane, bits := range sends[i] {
				before = append(before, bits...)
				after = append(after, sends[r.classes[i]][r.lanes[lane]]...)
			}
		}
		notAfter(e.f, before, after)
	}
}

// longestRow is how many positions of two rows are compared; later ones seldom
// decide.
const longestRow = 256

// notAfter requires that, of two rows of literals, at the first position where
// they differ before is true and after is false.
func notAfter(f *constraints.Formula, before, after []constraints.Lit) {
	same := constraints.True // the rows are equal so far
	for i := range min(len(before), longestRow) {
		a, b := before[i], after[i]
		if a == b {
			continue
		}
		f.Implies([]constraints.Lit{same, b}, a)
		// It has to be true if the rows are equal so far, and need not be
		// constrained otherwise.
		next := f.Bool("")
		f.Implies([]constraints.Lit{same, a, b}, next)
		f.Implies([]constraints.Lit{same, a.Not(), b.Not()}, next)
		same = next
	}
}

// unary is the number of literals that hold, in order encoding: the larger of two
// numbers has the larger row of bits.
func unary(f *constraints.Formula, lits []constraints.Lit) []constraints.Lit {
	if len(lits) < 2 {
		return lits
	}
	x := f.Int("", 0, len(lits))
	terms := x.Terms(-1)
	for _, l := range lits {
		terms = append(terms, constraints.Term{Weight: 1, Lit: l})
	}
	f.SumExactly(0, terms...)
	bits := make([]constraints.Lit, len(lits))
	for i := range bits {
		bits[i] = x.AtLeast(i + 1)
	}
	return bits
}
