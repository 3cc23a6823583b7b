package trees

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/maxflow"
)

// pack packs the trees of an attempt for each root with a demand, at the attempt's rate
// or, if that is open, at the highest that works. It returns no trees if they do not fit.
func (n *system) pack(ctx context.Context, wants []int64, o attempt) (*big.Rat, []Tree, error) {
	k := big.NewRat(1, int64(o.k))
	var candidates []*big.Rat // amounts that a tree might carry
	if o.rate != nil {
		candidates = []*big.Rat{new(big.Rat).Mul(o.rate, k)}
	} else {
		candidates = n.breakpoints(wants, o.k)
	}
	// The less each tree carries, the more of them fit.
	found, _ := slices.BinarySearchFunc(candidates, true, func(y *big.Rat, _ bool) int {
		if ctx.Err() == nil && newFeasibility(ctx, n.scaled(y, wants, o.k)).missing(1) > 0 {
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
		if !n.usesLinkedRanks(trees) {
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

// packed packs a graph's trees. It returns nil if the switches cannot be removed.
func (g *graph) packed(ctx context.Context) ([]Tree, error) {
	if ok, err := g.removeSwitches(ctx); !ok || err != nil {
		return nil, err
	}
	return g.grow(ctx)
}

// breakpoints lists, in falling order, the rates of a tree at which some link is used
// fully, down to one at which k trees for each root certainly fit: if a tree carries 1/k
// of what can enter a rank, rounding loses less than one tree on each link.
func (n *system) breakpoints(wants []int64, k int) []*big.Rat {
	var sum int64
	for _, w := range wants {
		sum += w
	}
	var widths []int64
	into := make([]int64, n.Ranks)
	for _, a := range n.Arcs {
		widths = append(widths, a.Capacity)
		if a.To < n.Ranks {
			into[a.To] += a.Capacity
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
		for j := max(1, from); j <= min(from+maxBreakpoints, sum*int64(k)); j++ {
			if y := big.NewRat(b, j); y.Cmp(most) <= 0 {
				list = append(list, y)
			}
		}
	}
	slices.SortFunc(list, func(a, b *big.Rat) int { return b.Cmp(a) })
	return slices.CompactFunc(list, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// maxBreakpoints limits the breakpoints for one width of link.
const maxBreakpoints = 1 << 10

// grow packs the trees into links between ranks, one root after another. Equal trees of
// a root grow together, link by link. The number of them that can use a link from x in
// the tree to y outside is limited such that every set S of ranks that contains x but
// not y keeps enough links for the trees from roots in S. That limit is the maximum flow
// to y from x and from the roots still to come, minus the demand of these roots. If not
// all of the trees can use the link, the others are grown later, from their root.
func (g *graph) grow(ctx context.Context) ([]Tree, error) {
	f := &packingState{graph: g, flow: maxflow.New(g.Ranks + 1)}
	for r := range g.Ranks {
		f.flow.Arc(g.Ranks, r, g.demand[r])
	}
	f.out = make([][]int, g.Ranks)
	var links []link
	for _, l := range g.links {
		if l.capacity > 0 {
			links = append(links, l)
		}
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	for i, l := range links {
		f.flow.Arc(l.from, l.to, l.capacity)
		f.out[l.from] = append(f.out[l.from], i)
	}
	f.links = links
	f.demand = slices.Clone(g.demand)
	f.total = g.total
	for r := range g.Ranks {
		for f.demand[r] > 0 {
			if err := f.growTrees(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	for i := range f.trees {
		f.assignPaths(i)
	}
	return f.trees, nil
}

// packingState is the trees so far, with the capacity that is left on links.
type packingState struct {
	*graph
	links  []link // between ranks, sorted; parts are what is left of them
	out    [][]int
	flow   *maxflow.Graph // arc r leads from the source to rank r, arc ranks+i is links[i]
	demand []int64        // by root: trees still to grow
	total  int64
	trees  []Tree
	used   [][]int // by tree: its links
}

// frontierLink is a link from a tree to a rank outside it.
type frontierLink struct {
	link  int
	depth int
}

// partialTree is one or more trees of a root that are equal so far.
type partialTree struct {
	*packingState
	tree     Tree
	count    int64 // how many trees these are
	in       []bool
	used     []int          // links
	frontier []frontierLink // links out of the tree
}

func (f *packingState) growTrees(ctx context.Context, root int) error {
	s := &partialTree{packingState: f, tree: Tree{Root: root}, count: f.demand[root], in: make([]bool, f.Ranks)}
	if f.separate {
		s.count = 1
	}
	f.addDemand(root, -s.count)
	s.in[root] = true
	s.expand(root, 1)
	for len(s.tree.Edges) < f.Ranks-1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		best, fit := s.best()
		if best < 0 {
			return fmt.Errorf("tree from rank %d: no link left to take; the switches were taken out wrongly", root)
		}
		if fit < s.count {
			best = s.reduceTo(fit, s.frontier[best].link)
		}
		s.take(s.frontier[best])
	}
	s.tree.Count = int(s.count)
	f.trees = append(f.trees, s.tree)
	f.used = append(f.used, s.used)
	return nil
}

// expand adds the links from a rank that is new in the tree to the frontier.
func (s *partialTree) expand(rank, depth int) {
	for _, l := range s.out[rank] {
		if !s.in[s.links[l].to] {
			s.frontier = append(s.frontier, frontierLink{l, depth})
		}
	}
}

// best returns the position in the frontier of the first link that all of the trees can
// use, or else of the one that most of them can, and how many. It is -1 if there is
// none. Links that no tree can use are dropped.
func (s *partialTree) best() (best int, fit int64) {
	// Links near the root first, then those with much room left.
	slices.SortStableFunc(s.frontier, func(a, b frontierLink) int {
		return cmp.Or(a.depth-b.depth, cmp.Compare(s.links[b.link].capacity, s.links[a.link].capacity), a.link-b.link)
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
		n := s.treesThatFit(r.link, s.count)
		if n == 0 {
			continue // capacity only shrinks
		}
		if n > fit {
			best, fit = len(kept), n
		}
		kept = append(kept, r)
	}
	s.frontier = kept
	return best, fit
}

// reduceTo reduces the number of trees that grow now, and leaves the others for later. It
// rebuilds the frontier, since links that were too narrow may fit now, and returns the
// new position of a link in it.
func (s *partialTree) reduceTo(count int64, link int) int {
	for _, l := range s.used {
		s.addCapacity(l, s.count-count)
	}
	s.addDemand(s.tree.Root, s.count-count)
	s.count = count
	s.frontier = nil
	depth := map[int]int{s.tree.Root: 0}
	s.expand(s.tree.Root, 1)
	for _, e := range s.tree.Edges {
		depth[e.Child] = depth[e.Parent] + 1
		s.expand(e.Child, depth[e.Child]+1)
	}
	return slices.IndexFunc(s.frontier, func(r frontierLink) bool { return r.link == link })
}

// take extends the trees along a link.
func (s *partialTree) take(r frontierLink) {
	l := s.links[r.link]
	s.addCapacity(r.link, -s.count)
	s.in[l.to] = true
	s.tree.Edges = append(s.tree.Edges, Edge{Parent: l.from, Child: l.to})
	s.used = append(s.used, r.link)
	s.expand(l.to, r.depth+1)
}

// addDemand changes the number of trees of a rank that remain to be grown.
func (f *packingState) addDemand(r int, by int64) {
	f.demand[r] += by
	f.total += by
	f.flow.SetCapacity(r, f.demand[r])
}

// addCapacity changes the capacity of a link.
func (f *packingState) addCapacity(l int, by int64) {
	f.links[l].capacity += by
	f.flow.SetCapacity(f.Ranks+l, f.links[l].capacity)
}

// treesThatFit returns how many of count trees can use a link.
func (f *packingState) treesThatFit(at int, count int64) int64 {
	l := f.links[at]
	count = min(count, l.capacity)
	if count == 0 {
		return 0
	}
	f.flow.SetCapacity(l.from, maxflow.Unlimited)
	n := f.flow.MaxFlow(f.Ranks, l.to, f.total+count) - f.total
	f.flow.SetCapacity(l.from, f.demand[l.from])
	return n
}

// assignPaths assigns paths through the topology to the edges of trees[i].
func (f *packingState) assignPaths(i int) {
	t := &f.trees[i]
	for e, l := range f.used[i] {
		count := int64(t.Count)
		parts := &f.links[l].shares
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
