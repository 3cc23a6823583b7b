package trees

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/maxflow"
)

// pack packs k trees for each root that wants some, at the rate that try gives, or
// else at the highest that works. It returns no trees if so many do not fit.
func (n *network) pack(ctx context.Context, wants []int64, o try) (*big.Rat, []Tree, error) {
	k := big.NewRat(1, int64(o.k))
	var candidates []*big.Rat // amounts that a tree might carry
	if o.rate != nil {
		candidates = []*big.Rat{new(big.Rat).Mul(o.rate, k)}
	} else {
		candidates = n.breakpoints(wants, o.k)
	}
	// The less each tree carries, the more of them fit.
	found, _ := slices.BinarySearchFunc(candidates, true, func(y *big.Rat, _ bool) int {
		if ctx.Err() == nil && newJudge(ctx, n.scaled(y, wants, o.k)).short(1) > 0 {
			return -1
		}
		return 0
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for ; found < len(candidates); found++ {
		g := n.scaled(candidates[found], wants, o.k)
		trees, err := g.packed(ctx)
		if !n.runnable(trees) {
			g = n.scaled(candidates[found], wants, o.k)
			g.strict = true
			trees, err = g.packed(ctx)
		}
		if trees != nil || err != nil {
			return candidates[found], trees, err
		}
	}
	return nil, nil, nil
}

// packed packs a graph's trees. It returns nil if the switches can't be removed.
func (g *graph) packed(ctx context.Context) ([]Tree, error) {
	if ok, err := g.removeSwitches(ctx); !ok || err != nil {
		return nil, err
	}
	return g.grow(ctx)
}

// breakpoints lists, in falling order, the amounts a tree can carry such that some
// link is used fully, down to one at which k trees for each root fit for certain:
// with trees of 1/k of what can enter a rank, rounding loses less than one tree on
// each link.
func (n *network) breakpoints(wants []int64, k int) []*big.Rat {
	var sum int64
	for _, w := range wants {
		sum += w
	}
	var widths []int64
	into := make([]int64, n.ranks)
	for _, a := range n.arcs {
		widths = append(widths, a.capacity)
		if a.to < n.ranks {
			into[a.to] += a.capacity
		}
	}
	slices.Sort(widths)
	widths = slices.Compact(widths)
	// No rank receives more than its links carry.
	var most *big.Rat
	for r, c := range into {
		if others := (sum - wants[r]) * int64(k); others > 0 {
			if y := big.NewRat(c, others); most == nil || y.Cmp(most) < 0 {
				most = y
			}
		}
	}
	var list []*big.Rat
	for _, b := range widths {
		first := new(big.Rat).Quo(new(big.Rat).SetInt64(b), most)
		from := new(big.Int).Quo(first.Num(), first.Denom()).Int64()
		for j := max(1, from); j <= min(from+breaks, sum*int64(k)); j++ {
			if y := big.NewRat(b, j); y.Cmp(most) <= 0 {
				list = append(list, y)
			}
		}
	}
	slices.SortFunc(list, func(a, b *big.Rat) int { return b.Cmp(a) })
	return slices.CompactFunc(list, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// breaks limits the breakpoints considered for one width of link.
const breaks = 1 << 10

// grow packs the trees into links between ranks, one root after another. Trees of
// a root that are alike grow together, link by link. A link from x in the tree to
// y outside can be taken by so many of them that every set S of ranks that
// contains x but not y keeps enough links for the trees from roots in S: the
// maximum flow to y from x and from the roots still to come, minus the demand of
// these roots. If not all of the trees can take it, the others are grown later,
// again from their root.
func (g *graph) grow(ctx context.Context) ([]Tree, error) {
	f := &forest{graph: g, flow: maxflow.New(g.ranks + 1)}
	for r := range g.ranks {
		f.flow.Arc(g.ranks, r, g.wants[r])
	}
	f.out = make([][]int, g.ranks)
	var links []link
	for _, l := range g.links {
		if l.room > 0 {
			links = append(links, l)
		}
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	for i, l := range links {
		f.flow.Arc(l.from, l.to, l.room)
		f.out[l.from] = append(f.out[l.from], i)
	}
	f.links = links
	f.wants = slices.Clone(g.wants)
	f.total = g.total
	for r := range g.ranks {
		for f.wants[r] > 0 {
			if err := f.tree(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	for i := range f.trees {
		f.route(i)
	}
	return f.trees, nil
}

// forest is the trees so far, with the room that is left on links.
type forest struct {
	*graph
	links []link // between ranks, sorted; parts are what is left of them
	out   [][]int
	flow  *maxflow.Graph // arc r leads from the source to rank r, arc ranks+i is links[i]
	wants []int64        // by root: trees still to grow
	total int64
	trees []Tree
	taken [][]int // by tree: its links
}

// reach is a link in the frontier of a tree, which it might take.
type reach struct {
	link  int
	depth int
}

// sapling is a number of trees of one root that are alike so far.
type sapling struct {
	*forest
	tree     Tree
	count    int64 // how many trees these are
	in       []bool
	taken    []int   // links
	frontier []reach // links out of the tree
}

// tree grows trees of one root that are alike.
func (f *forest) tree(ctx context.Context, root int) error {
	s := &sapling{forest: f, tree: Tree{Root: root}, count: f.wants[root], in: make([]bool, f.ranks)}
	if f.apart {
		s.count = 1
	}
	f.want(root, -s.count)
	s.in[root] = true
	s.open(root, 1)
	for len(s.tree.Edges) < f.ranks-1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		best, fit := s.best()
		if best < 0 {
			return fmt.Errorf("tree from rank %d: no link left to take; the switches were taken out wrongly", root)
		}
		if fit < s.count {
			best = s.fewer(fit, s.frontier[best].link)
		}
		s.take(s.frontier[best])
	}
	s.tree.Count = int(s.count)
	f.trees = append(f.trees, s.tree)
	f.taken = append(f.taken, s.taken)
	return nil
}

// open adds the links from a rank, newly in the tree, to the frontier.
func (s *sapling) open(rank, depth int) {
	for _, l := range s.out[rank] {
		if !s.in[s.links[l].to] {
			s.frontier = append(s.frontier, reach{l, depth})
		}
	}
}

// best returns the position in the frontier of the first link that all of the
// trees can take, or else of the one that most of them can, and how many. It is -1
// if there is none. Links that no tree can take are dropped.
func (s *sapling) best() (best int, fit int64) {
	// Links near the root first, then those with much room left.
	slices.SortStableFunc(s.frontier, func(a, b reach) int {
		return cmp.Or(a.depth-b.depth, cmp.Compare(s.links[b.link].room, s.links[a.link].room), a.link-b.link)
	})
	best = -1
	kept := s.frontier[:0]
	for i, r := range s.frontier {
		if fit == s.count {
			kept = append(kept, s.frontier[i:]...)
			break
		}
		if s.in[s.links[r.link].to] {
			continue
		}
		n := s.fits(r.link, s.count)
		if n == 0 {
			continue // room only shrinks, so it stays out
		}
		if n > fit {
			best, fit = len(kept), n
		}
		kept = append(kept, r)
	}
	s.frontier = kept
	return best, fit
}

// fewer reduces the number of trees that grow now, leaving the others for later.
// It returns the new position of a link in the frontier, to which links return
// that were too narrow for more trees.
func (s *sapling) fewer(count int64, link int) int {
	for _, l := range s.taken {
		s.room(l, s.count-count)
	}
	s.want(s.tree.Root, s.count-count)
	s.count = count
	s.frontier = nil
	depth := map[int]int{s.tree.Root: 0}
	s.open(s.tree.Root, 1)
	for _, e := range s.tree.Edges {
		depth[e.Child] = depth[e.Parent] + 1
		s.open(e.Child, depth[e.Child]+1)
	}
	return slices.IndexFunc(s.frontier, func(r reach) bool { return r.link == link })
}

// take extends the trees along a link.
func (s *sapling) take(r reach) {
	l := s.links[r.link]
	s.room(r.link, -s.count)
	s.in[l.to] = true
	s.tree.Edges = append(s.tree.Edges, Edge{Parent: l.from, Child: l.to})
	s.taken = append(s.taken, r.link)
	s.open(l.to, r.depth+1)
}

// want changes how many trees a rank wants after the current ones.
func (f *forest) want(r int, by int64) {
	f.wants[r] += by
	f.total += by
	f.flow.SetCapacity(r, f.wants[r])
}

// room changes the room on a link.
func (f *forest) room(l int, by int64) {
	f.links[l].room += by
	f.flow.SetCapacity(f.ranks+l, f.links[l].room)
}

// fits is how many of count trees can take a link.
func (f *forest) fits(at int, count int64) int64 {
	l := f.links[at]
	count = min(count, l.room)
	if count == 0 {
		return 0
	}
	f.flow.SetCapacity(l.from, maxflow.Unlimited)
	n := f.flow.MaxFlow(f.ranks, l.to, f.total+count) - f.total
	f.flow.SetCapacity(l.from, f.wants[l.from])
	return n
}

// route assigns paths through the topology to the edges of trees[i].
func (f *forest) route(i int) {
	t := &f.trees[i]
	for e, l := range f.taken[i] {
		count := int64(t.Count)
		parts := &f.links[l].parts
		for count > 0 {
			p := &(*parts)[0]
			n := min(count, p.count)
			t.Edges[e].Routes = append(t.Edges[e].Routes, Route{Links: slices.Clone(p.edges), Count: int(n)})
			count -= n
			if p.count -= n; p.count == 0 {
				*parts = (*parts)[1:]
			}
		}
	}
}
