package trees

import (
	"fmt"
	"math/big"

	"github.com/colltune/colltune/topologies"
)

// Packing is a set of spanning trees that fit into a topology's links together.
type Packing struct {
	Topology   string
	Ranks      int
	Collective string // allgather, broadcast; with data from child to parent: reducescatter, reduce
	Root       int    // of broadcast and reduce
	// K is the number of trees from each root: every rank, or Root alone.
	K int
	// Each is what one tree carries, in bytes a second.
	Each *big.Rat
	// Rate is the algorithm bandwidth of all trees together, in bytes a second: size
	// over time, with size as package bounds counts it.
	Rate *big.Rat
	// Bound is the bandwidth bound of package bounds, in bytes a second. A packing
	// limited by MaxTrees can stay below it.
	Bound *big.Rat
	Trees []Tree
}

// Tree is Count identical trees.
type Tree struct {
	Root  int
	Count int
	// Edges are in an order in which each parent is the root or an earlier child.
	Edges []Edge
}

// Edge is an edge of a tree, from rank to rank.
type Edge struct {
	Parent, Child int
	Routes        []Route // their counts add up to the tree's
}

// Route is the path of Count trees from rank to rank: indices of edges of the topology,
// in the order in which data pass them.
type Route struct {
	Links []int
	Count int
}

// Optimal reports whether the packing meets the bound.
func (p *Packing) Optimal() bool { return p.Rate.Cmp(p.Bound) == 0 }

// Reversed reports whether data flow from the leaves to the root.
func (p *Packing) Reversed() bool { return kinds[p.Collective].reversed }

// roots returns the number of ranks that have trees of their own.
func (p *Packing) roots() int {
	if kinds[p.Collective].rooted {
		return 1
	}
	return p.Ranks
}

// Check judges a packing by the topology alone. It returns an error unless every tree
// spans the ranks, every route is a path, no link carries more than it can, there are K
// trees from each root, and they add up to Rate.
func (p *Packing) Check(t *topologies.Topology) error {
	kind, ok := kinds[p.Collective]
	switch {
	case !ok:
		return fmt.Errorf("packing for %q: want one of %v", p.Collective, Collectives())
	case len(t.Ranks) != p.Ranks:
		return fmt.Errorf("packing for %d ranks: %s has %d", p.Ranks, t.Name, len(t.Ranks))
	case p.K < 1 || p.Each == nil || p.Rate == nil || p.Bound == nil || p.Each.Sign() <= 0:
		return fmt.Errorf("packing of %d trees a root, %v B/s each: want at least one that carries something", p.K, p.Each)
	}
	load := make([]int64, len(t.Edges))
	count := make([]int, p.Ranks)
	for i := range p.Trees {
		tree := &p.Trees[i]
		if err := tree.check(t, kind.reversed, load); err != nil {
			return fmt.Errorf("tree %d, from rank %d: %w", i, tree.Root, err)
		}
		count[tree.Root] += tree.Count
	}
	for r, n := range count {
		want := p.K
		if kind.rooted && r != p.Root {
			want = 0
		}
		if n != want {
			return fmt.Errorf("rank %d has %d trees: want %d", r, n, want)
		}
	}
	for e, l := range load {
		carried := new(big.Rat).Mul(p.Each, big.NewRat(l, 1))
		if carried.Cmp(new(big.Rat).SetInt64(int64(t.Edges[e].Bandwidth))) > 0 {
			return fmt.Errorf("link %s to %s carries %d trees, %s B/s: it can carry %v",
				vertex(t, t.Edges[e].From), vertex(t, t.Edges[e].To), l, carried.RatString(), t.Edges[e].Bandwidth)
		}
	}
	rate := new(big.Rat).Mul(p.Each, big.NewRat(int64(p.K*p.roots()), 1))
	if rate.Cmp(p.Rate) != 0 || rate.Cmp(p.Bound) > 0 {
		return fmt.Errorf("trees carry %s B/s together: the packing says %s, the bound %s", rate.RatString(), p.Rate.RatString(), p.Bound.RatString())
	}
	return nil
}

// check checks one tree, and adds it to the load of the links.
func (tree *Tree) check(t *topologies.Topology, reversed bool, load []int64) error {
	n := len(t.Ranks)
	if tree.Root < 0 || tree.Root >= n || tree.Count < 1 {
		return fmt.Errorf("%d trees: want at least 1, from a rank below %d", tree.Count, n)
	}
	in := make([]bool, n)
	in[tree.Root] = true
	for _, e := range tree.Edges {
		switch {
		case e.Parent < 0 || e.Parent >= n || !in[e.Parent]:
			return fmt.Errorf("edge from %d to %d: the tree has not come to %d", e.Parent, e.Child, e.Parent)
		case e.Child < 0 || e.Child >= n || in[e.Child]:
			return fmt.Errorf("edge from %d to %d: the tree has been at %d", e.Parent, e.Child, e.Child)
		}
		in[e.Child] = true
		from, to := e.Parent, e.Child
		if reversed {
			from, to = to, from
		}
		count := 0
		for _, r := range e.Routes {
			if err := checkRoute(t, r.Links, from, to); err != nil {
				return err
			}
			if r.Count < 1 {
				return fmt.Errorf("%d trees from %d to %d: want at least 1 a route", r.Count, from, to)
			}
			for _, l := range r.Links {
				load[l] += int64(r.Count)
			}
			count += r.Count
		}
		if count != tree.Count {
			return fmt.Errorf("%d trees from %d to %d: want %d", count, from, to, tree.Count)
		}
	}
	if len(tree.Edges) != n-1 {
		return fmt.Errorf("%d edges: want %d to span %d ranks", len(tree.Edges), n-1, n)
	}
	return nil
}

// checkRoute checks that links lead from one rank to another and pass no third;
// that within a single node they take neither NICs nor the fabric; and that
// nothing turns round inside a NIC.
func checkRoute(t *topologies.Topology, links []int, from, to int) error {
	at, before := from, -1
	for i, l := range links {
		if l < 0 || l >= len(t.Edges) || t.Edges[l].From != at {
			return fmt.Errorf("route from %d to %d: link %d does not leave %s", from, to, l, vertex(t, at))
		}
		next := t.Edges[l].To
		kind := t.Vertices[at].Kind
		switch {
		case i > 0 && kind == topologies.GPU:
			return fmt.Errorf("route from %d to %d: over rank %d", from, to, at)
		case kind >= topologies.NIC && t.Nodes == 1:
			return fmt.Errorf("route from %d to %d: over %s, of one node", from, to, vertex(t, at))
		case kind == topologies.NIC && outside(t, before) == outside(t, next):
			return fmt.Errorf("route from %d to %d: turns round in %s", from, to, vertex(t, at))
		}
		before, at = at, next
	}
	switch {
	case at != to || len(links) == 0:
		return fmt.Errorf("route from %d to %d: ends at %s", from, to, vertex(t, at))
	case !t.Linked(from, to):
		return fmt.Errorf("route from %d to %d: no message goes that way", from, to)
	}
	return nil
}

// outside reports whether a vertex is a NIC or in the fabric.
func outside(t *topologies.Topology, v int) bool {
	return t.Vertices[v].Kind >= topologies.NIC
}

func vertex(t *topologies.Topology, v int) string {
	if v < len(t.Ranks) {
		return fmt.Sprintf("rank %d", v)
	}
	return t.Vertices[v].Name
}
