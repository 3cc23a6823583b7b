package trees

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// Options says what to pack.
type Options struct {
	Collective string // allgather, reducescatter, broadcast or reduce; "" means allgather
	Root       int    // rank, of broadcast and reduce
	// MaxTrees limits the trees of a root, and so the chunks that its data are divided
	// into, to at most 65536; 0 means DefaultMaxTrees. If the bound needs more, Pack
	// tries fewer trees and returns the best packing.
	MaxTrees int
}

// DefaultMaxTrees suffices for every system of docs/reference/bounds.md: two MI250 nodes need 83.
const DefaultMaxTrees = 128

// kind is a row of the table of collectives that trees can implement.
type kind struct {
	reversed bool // data flow from the leaves to the root
	rooted   bool // trees from a single root, not from every rank
}

var kinds = map[string]kind{
	"allgather":     {},
	"broadcast":     {rooted: true},
	"reducescatter": {reversed: true},
	"reduce":        {reversed: true, rooted: true},
}

// Collectives lists the collectives that trees can be packed for, sorted.
func Collectives() []string { return slices.Sorted(maps.Keys(kinds)) }

// Pack packs spanning trees into a topology's links (ForestColl, arXiv 2402.06787,
// section 5). Its time grows with the fourth power of the ranks: 64 take a second; for
// 1,000 use package greedy. The error is ctx's, or says that topology and options do not
// fit together or that no trees span the ranks.
func Pack(ctx context.Context, t *topologies.Topology, o Options) (*Packing, error) {
	if o.Collective == "" {
		o.Collective = "allgather"
	}
	if o.MaxTrees == 0 {
		o.MaxTrees = DefaultMaxTrees
	}
	kind, ok := kinds[o.Collective]
	n := len(t.Ranks)
	switch {
	case !ok:
		return nil, fmt.Errorf("trees for %s: want one of %v", o.Collective, Collectives())
	case o.MaxTrees < 1 || o.MaxTrees > maxTreesPerRoot:
		return nil, fmt.Errorf("at most %d trees a root: want 1 to %d", o.MaxTrees, maxTreesPerRoot)
	case n < 2:
		return nil, fmt.Errorf("trees on %d ranks: want at least 2", n)
	}
	c, err := collective.New(collective.Spec{Name: o.Collective, Ranks: n, Chunks: 1, Root: o.Root})
	if err != nil {
		return nil, err
	}
	b, err := bounds.Of(ctx, t, c)
	if err != nil {
		return nil, err
	}
	if b.AlgbwBps.Sign() == 0 {
		return nil, fmt.Errorf("trees on %s: not every rank can reach every other", t.Name)
	}
	p := &Packing{Topology: t.Name, Ranks: n, Collective: o.Collective, Root: o.Root, Bound: b.AlgbwBps}
	if err := p.search(ctx, newSystem(t, kind.reversed), o.MaxTrees); err != nil {
		return nil, err
	}
	if p.Rate == nil {
		return nil, fmt.Errorf("trees on %s: %d a root are not enough to use its links, or would need ways that no message takes", t.Name, o.MaxTrees)
	}
	for i := range p.Trees {
		if kind.reversed {
			p.Trees[i].reverseRoutes()
		}
	}
	return p, nil
}

// search tries numbers of trees up to most, and stores the packing of the highest rate in
// p. It leaves p.Rate nil if none fits.
func (p *Packing) search(ctx context.Context, net *system, most int) error {
	wants := make([]int64, p.Ranks) // by root: trees, in units of K
	for r := range wants {
		if !kinds[p.Collective].rooted || r == p.Root {
			wants[r] = 1
		}
	}
	roots := big.NewRat(int64(p.roots()), 1)
	per := new(big.Rat).Quo(p.Bound, roots) // what a root sends at the bound
	for _, try := range attempts(net, per, most) {
		if try.rate != nil && p.Rate != nil && p.Rate.Cmp(new(big.Rat).Mul(try.rate, roots)) >= 0 {
			continue
		}
		each, trees, err := net.pack(ctx, wants, try)
		if err != nil {
			return err
		}
		if trees == nil {
			continue
		}
		rate := new(big.Rat).Mul(each, big.NewRat(int64(try.k), 1))
		if rate.Mul(rate, roots); p.Rate == nil || rate.Cmp(p.Rate) > 0 {
			p.K, p.Each, p.Rate, p.Trees = try.k, each, rate, trees
		}
		if p.Optimal() {
			break
		}
	}
	return nil
}

// reverseRoutes reverses each route, for data that flow to the root.
func (tree *Tree) reverseRoutes() {
	for _, e := range tree.Edges {
		for _, r := range e.Routes {
			slices.Reverse(r.Links)
		}
	}
}

const maxTreesPerRoot = 1 << 16

// attempt is a number of trees for each root and, unless it is nil, the rate of a root.
type attempt struct {
	k    int
	rate *big.Rat
}

// attempts lists numbers of trees to try, in order: those that might meet the bound,
// fewest first, then some with an open rate.
//
// At the bound a root sends x bytes a second, and each of k trees carries y = x/k, so a
// link of bandwidth b has capacity for ⌊b/y⌋ trees. If y is the greatest common divisor of
// x and all b, rounding loses nothing and the bound is met. If few links are as narrow as
// the bound, fewer trees can meet it too.
func attempts(net *system, x *big.Rat, most int) (list []attempt) {
	divisor := new(big.Int).Set(x.Num()) // of x.Num() and all b·x.Denom(), over x.Denom()
	for _, a := range net.Arcs {
		b := big.NewInt(a.Capacity)
		divisor.GCD(nil, nil, divisor, b.Mul(b, x.Denom()))
	}
	exact := new(big.Int).Quo(x.Num(), divisor)
	for k := 1; k <= most && k <= maxInexactTrees; k++ {
		if exact.Cmp(big.NewInt(int64(k))) > 0 {
			list = append(list, attempt{k, x})
		}
	}
	if exact.Cmp(big.NewInt(int64(most))) <= 0 {
		return append(list, attempt{int(exact.Int64()), x})
	}
	for k := most; k > 0; k /= 2 {
		list = append(list, attempt{k, nil})
	}
	return list
}

// maxInexactTrees is the number of trees of a root up to which Pack tries to meet the
// bound although rounding loses capacity.
const maxInexactTrees = 16
