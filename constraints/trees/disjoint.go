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

// DisjointOptions says which trees are wanted.
type DisjointOptions struct {
	Count int // how many; 0 is 1
	Root  int // of all trees; Anywhere lets us choose, if data go both ways
	// Down means that data go from the root to the ranks, as in a broadcast, and
	// Up that they come together at the root, as in a reduction. A tree for both
	// uses each of its links in both directions.
	Down, Up bool
}

// Anywhere leaves the root open.
const Anywhere = -1

// DisjointAnswer is a set of trees that share no link.
type DisjointAnswer struct {
	Parents [][]int // by tree and rank; -1 for the root
	Root    int
	// Width is what each tree can carry if all are used at once, in bytes a
	// second: the minimum, over links, of bandwidth divided by the number of
	// trees' steps that cross it.
	Width *big.Rat
}

// NoTreesError says that the topology has no such trees, and why.
type NoTreesError struct {
	Topology string
	Count    int
	Root     string
	Up       bool // towards the root, rather than away from it
	Why      string
}

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
	// MaxDisjointRanks limits the ranks, since every pair of them is examined for
	// every link that a tree takes.
	MaxDisjointRanks = 256
)

// Disjoint finds spanning trees of one root that share no link between two GPUs:
// one that stands for several physical links can be in as many trees. What lies
// behind a switch or a NIC is shared, as by rings, and counts by its bandwidth.
// Of all such sets it takes one whose narrowest link is widest, and makes that as
// shallow as exchanging links does. There is no solver and no clock in it: k trees
// exist just where every rank can be reached over k ways that share no link
// (Edmonds 1973). Where the way from one rank to another is not the only one that
// is open between them, the narrowest link may be narrower than it could be.
//
// The error is a *NoTreesError where there are none.
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
	if why := p.cut(); why != "" {
		return DisjointAnswer{}, &NoTreesError{t.Name, o.Count, p.gpu(p.root), o.Up && !o.Down, why}
	}
	parents, width, err := p.widest(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return DisjointAnswer{}, err
	}
	return DisjointAnswer{Parents: parents, Root: p.root, Width: width}, nil
}

// widest returns the trees whose narrowest link is widest: those that fit into the
// links at the greatest possible width for a tree. Paths through switches are
// found by removing the switches from the network; each rank's steps must then be
// steps of the topology. If they are not, trees are made of such steps from the
// beginning.
func (p *stepProblem) widest(ctx context.Context) (parents [][]int, width *big.Rat, err error) {
	net := p.network()
	wants := make([]int64, p.n)
	wants[p.root] = 1
	var widths []*big.Rat
	if net.entered(p.root) {
		widths = net.breakpoints(wants, p.count)
	}
	first, _ := slices.BinarySearchFunc(widths, true, func(y *big.Rat, _ bool) int {
		if ctx.Err() == nil && newJudge(ctx, p.graph(net, y)).short(1) > 0 {
			return -1
		}
		return 0
	})
	for _, y := range widths[first:min(first+otherWidths, len(widths))] {
		found, err := p.at(ctx, p.graph(net, y))
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
	found, err := p.at(ctx, p.stepGraph())
	if err != nil {
		return nil, nil, err
	}
	p.shallower(ctx, found, p.width(found))
	if w := p.width(found); width == nil || w.Cmp(width) > 0 {
		parents, width = found, w
	}
	return parents, width, nil
}

// otherWidths is how many smaller widths are tried if rounding, or the choice of
// paths, rules out trees of the greatest.
const otherWidths = 8

// entered reports whether every rank but the root has an incoming edge. If data go
// both ways, a rank that can be reached may have none, because the way back takes
// other edges.
func (n *network) entered(root int) bool {
	into := make([]bool, n.vertices)
	for _, a := range n.arcs {
		into[a.to] = true
	}
	for r := range n.ranks {
		if r != root && !into[r] {
			return false
		}
	}
	return true
}

// at returns trees that fit into a graph, or nil if its switches can't be removed,
// or two of the trees end up sharing a link.
func (p *stepProblem) at(ctx context.Context, g *graph) ([][]int, error) {
	g.apart = true
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

// centre is the rank that is nearest to the others: first by the farthest of them,
// then by the sum of all distances. If links are as wide in one direction as in
// the other, trees from one root are as many and as wide as those from any other.
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

// distances are the steps from a rank to every other, or -1 if there is no way.
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
