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

// DisjointOptions say which trees are wanted.
type DisjointOptions struct {
	Count int // how many; 0 is 1
	Root  int // of all of them; Anywhere for one of our choice, where data go both ways
	// Down is that data go from the root to the ranks, as in a broadcast, Up that
	// they come together there, as in a reduction. A tree for both takes each of
	// its links both ways.
	Down, Up bool
}

// Anywhere leaves the root open.
const Anywhere = -1

// DisjointAnswer is trees that share no link.
type DisjointAnswer struct {
	Parents [][]int // of every rank, in each tree; -1 for the root
	Root    int
	// Width is what each tree can carry when all are used at once, in bytes a
	// second: the least, over links, of bandwidth over the trees' steps across it.
	Width *big.Rat
}

// NoTreesError says that the topology has no such trees, in its own terms.
type NoTreesError struct {
	Topology string
	Count    int
	Root     string
	Up       bool // to the root, not from it
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
	// MaxDisjointRanks is how many ranks trees are looked for among: every pair of
	// them is looked at for every link that a tree takes.
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

// widest is the trees whose narrowest link is widest: those that fit into the
// links at the most a tree can carry. Of switches the ways through are found by
// taking them out of the network; a rank's steps must then be the topology's own.
// Where they are not, trees of steps alone remain.
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

// otherWidths is how many widths are tried, where rounding or a choice of ways
// leaves trees of the widest out of reach.
const otherWidths = 8

// entered tells whether every rank but the root has an edge that leads into it.
// Where data go both ways there may be none, though it can be reached: the way back
// takes other edges.
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

// at is trees that fit into a graph; nil where its switches cannot be taken out,
// or where two trees come to share a link.
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

// centre is the rank from which the others are the fewest steps away: the
// farthest of them, then all together. In a network whose links are as wide there
// as back, trees of one root are as many and as wide as those of another.
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

// distances are the steps from a rank to every other, -1 where there is no way.
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
