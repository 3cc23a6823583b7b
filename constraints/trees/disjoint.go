package trees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// DisjointOptions says which trees to find.
type DisjointOptions struct {
	Count int // of trees, up to 64; 0 means 1
	Root  int // rank, of all trees; Anywhere lets Disjoint choose if Down and Up
	// Down means that data flow from the root to the ranks, as in a broadcast, and
	// Up that they flow to the root, as in a reduction. A tree for both uses each of
	// its links in both directions. At least one must be set.
	Down, Up bool
}

// Anywhere leaves the choice of the root to Disjoint.
const Anywhere = -1

// DisjointAnswer is a set of trees that share no link.
type DisjointAnswer struct {
	Parents [][]int // by tree and rank; -1 for the root
	Root    int
	// Width is what each tree can carry if all are used at once, in bytes a second:
	// the minimum, over links, of bandwidth divided by the number of uses.
	Width *big.Rat
}

// NoTreesError means that the topology has no such trees.
type NoTreesError struct {
	Topology string
	Count    int    // of trees asked for
	Root     string // its name in the topology
	Up       bool   // data flow to the root only
	Why      string // the smallest set of GPUs that too few links enter or leave
}

// Error names the topology, the root and the reason.
func (e *NoTreesError) Error() string {
	what, way := "no tree", "from"
	if e.Up {
		way = "to"
	}
	if e.Count > 1 {
		return fmt.Sprintf("topology %s: no %d trees %s %s that share no link: %s", e.Topology, e.Count, way, e.Root, e.Why)
	}
	return fmt.Sprintf("topology %s: %s %s %s: %s", e.Topology, what, way, e.Root, e.Why)
}

const (
	maxDisjoint = 64
	// MaxDisjointRanks limits the ranks, because every pair of them is examined for
	// every link of a tree.
	MaxDisjointRanks = 256
)

// Disjoint finds spanning trees of one root that share no link between two GPUs. A link
// that stands for several physical ones can be in as many trees. Links of switches and
// NICs are shared, and limit the width by their bandwidth. Of all such sets it returns
// one of the greatest Width, made shallower by exchanging links. k such trees exist
// exactly if every rank can be reached over k edge-disjoint paths (Edmonds 1973). If
// there are several paths between two ranks, Width may not be the greatest.
//
// The result is the same on every machine. The error is a *NoTreesError, ctx's, or about
// the options.
func Disjoint(ctx context.Context, t *topologies.Topology, o DisjointOptions) (DisjointAnswer, error) {
	if o.Count == 0 {
		o.Count = 1
	}
	n := len(t.Ranks)
	switch {
	case o.Count < 0 || o.Count > maxDisjoint:
		return DisjointAnswer{}, fmt.Errorf("%d trees: want 1 to %d", o.Count, maxDisjoint)
	case n < 2 || n > MaxDisjointRanks:
		return DisjointAnswer{}, fmt.Errorf("trees that share no link on %d ranks: want 2 to %d", n, MaxDisjointRanks)
	case !o.Down && !o.Up:
		return DisjointAnswer{}, errors.New("trees along which nothing goes: want data to go down, up or both")
	case o.Root < Anywhere || o.Root >= n || o.Root == Anywhere && !(o.Down && o.Up):
		return DisjointAnswer{}, fmt.Errorf("root %d of trees: want 0 to %d", o.Root, n-1)
	}
	p := newStepProblem(t, o)
	if o.Root == Anywhere {
		p.root = p.centre()
	}
	if why := p.explain(); why != "" {
		return DisjointAnswer{}, &NoTreesError{t.Name, o.Count, p.gpu(p.root), o.Up && !o.Down, why}
	}
	parents, width, err := p.widest(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return DisjointAnswer{}, err
	}
	return DisjointAnswer{Parents: parents, Root: p.root, Width: width}, nil
}

// widest returns the trees of the greatest width: those that fit into the links at the
// greatest possible width. Paths through switches are found by splitting off the
// switches; each edge of the trees must then be a step of the topology. If some are not,
// the trees are packed into the graph of steps instead.
func (p *stepProblem) widest(ctx context.Context) (parents [][]int, width *big.Rat, err error) {
	net := p.network()
	wants := make([]int64, p.n)
	wants[p.root] = 1
	var widths []*big.Rat
	if net.allReachable(p.root) {
		widths = net.breakpoints(wants, p.count)
	}
	first, _ := slices.BinarySearchFunc(widths, true, func(y *big.Rat, _ bool) int {
		if ctx.Err() == nil && newFeasibility(ctx, p.graph(net, y)).missing(1) > 0 {
			return -1
		}
		return 0
	})
	for _, y := range widths[first:min(first+maxOtherWidths, len(widths))] {
		found, err := p.packAtWidth(ctx, p.graph(net, y))
		if err != nil {
			return nil, nil, err
		}
		if found == nil {
			continue
		}
		p.shallower(ctx, found, y)
		if w := p.width(found); width == nil || w.Cmp(width) > 0 {
			parents, width = found, w
		}
		if width.Cmp(y) >= 0 {
			return parents, width, nil
		}
	}
	found, err := p.packAtWidth(ctx, p.stepGraph())
	if err != nil {
		return nil, nil, err
	}
	p.shallower(ctx, found, p.width(found))
	if w := p.width(found); width == nil || w.Cmp(width) > 0 {
		parents, width = found, w
	}
	return parents, width, nil
}

// maxOtherWidths is the number of smaller widths that are tried if rounding or the
// choice of paths rules out the greatest.
const maxOtherWidths = 8

// allReachable reports whether every rank but the root has an incoming edge. If data
// flow both ways, a rank that can be reached may have none, because the path back uses
// other edges.
func (n *system) allReachable(root int) bool {
	into := make([]bool, n.Vertices)
	for _, a := range n.Arcs {
		into[a.To] = true
	}
	for r := range n.Ranks {
		if r != root && !into[r] {
			return false
		}
	}
	return true
}

// packAtWidth returns trees that fit into a graph, or nil if its switches cannot be
// removed or two of the trees share a link.
func (p *stepProblem) packAtWidth(ctx context.Context, g *graph) ([][]int, error) {
	g.separate = true
	if ok, err := g.removeSwitches(ctx); !ok || err != nil {
		return nil, err
	}
	trees, err := g.grow(ctx)
	if err != nil {
		return nil, err
	}
	var parents [][]int
	for _, t := range trees {
		of := make([]int, p.n)
		of[t.Root] = -1
		for _, e := range t.Edges {
			of[e.Child] = e.Parent
		}
		for range t.Count {
			parents = append(parents, slices.Clone(of))
		}
	}
	if !p.disjoint(parents) {
		return nil, nil
	}
	return parents, nil
}

// centre returns the rank with the least eccentricity, and of these the one with the
// least sum of distances. If links have the same bandwidth in both directions, the
// number and width of trees do not depend on the root.
func (p *stepProblem) centre() int {
	best, least := 0, [2]int{p.n * p.n, 0}
	for r := range p.n {
		far := [2]int{}
		depth := p.distances(r)
		for _, d := range depth {
			if d < 0 {
				d = p.n
			}
			far[0] = max(far[0], d)
			far[1] += d
		}
		if slices.Compare(far[:], least[:]) < 0 {
			best, least = r, far
		}
	}
	return best
}

// distances returns the steps from a rank to every other, or -1 if there is no path.
func (p *stepProblem) distances(from int) []int {
	depth := make([]int, p.n)
	for i := range depth {
		depth[i] = -1
	}
	depth[from] = 0
	queue := []int{from}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for b := range p.n {
			if depth[b] < 0 && p.step(a, b) != nil {
				depth[b] = depth[a] + 1
				queue = append(queue, b)
			}
		}
	}
	return depth
}
