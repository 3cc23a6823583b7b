package trees

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// Options are what Pack is asked for.
type Options struct {
	Collective string // allgather where empty; reducescatter, broadcast, reduce
	Root       int    // of broadcast and reduce
	// MaxTrees is the most trees a root may have, as many chunks as its data are
	// cut into; 0 means DefaultMaxTrees. Where the bound needs more, the packing
	// is the best that so many can do.
	MaxTrees int
}

// DefaultMaxTrees is enough for every system of docs/bounds.md: two MI250 need
// 83.
const DefaultMaxTrees = 128

// kind is a row of the table of collectives that trees can do.
type kind struct {
	reversed bool // data go from the leaves to the root
	rooted   bool // one root's trees, not every rank's
}

var kinds = map[string]kind{
	"allgather":     {},
	"broadcast":     {rooted: true},
	"reducescatter": {reversed: true},
	"reduce":        {reversed: true, rooted: true},
}

// Collectives lists what can be packed for.
func Collectives() []string {
	var names []string
	for n := range kinds {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Pack packs spanning trees into a topology's links. Its time grows with the
// fourth power of the ranks: 64 take a second, for 1,000 ask package greedy.
// The error says that the two do not fit together, that no tree can span the
// ranks, or that ctx is done.
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
	case o.MaxTrees < 1 || o.MaxTrees > maxTrees:
		return nil, fmt.Errorf("at most %d trees a root: want 1 to %d", o.MaxTrees, maxTrees)
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
	net := newNetwork(t, kind.reversed)
	wants := make([]int64, n) // roots' trees over K
	for r := range wants {
		if !kind.rooted || r == o.Root {
			wants[r] = 1
		}
	}
	roots := big.NewRat(int64(p.roots()), 1)
	per := new(big.Rat).Quo(p.Bound, roots) // what a root sends at the bound
	for _, try := range tries(net, per, o.MaxTrees) {
		if try.rate != nil && p.Rate != nil && p.Rate.Cmp(new(big.Rat).Mul(try.rate, roots)) >= 0 {
			continue
		}
		each, trees, err := net.pack(ctx, wants, try)
		if err != nil {
			return nil, err
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
	if p.Rate == nil {
		return nil, fmt.Errorf("trees on %s: %d a root are not enough to use its links, or would need ways that no message takes", t.Name, o.MaxTrees)
	}
	for i := range p.Trees {
		if kind.reversed {
			p.Trees[i].turn()
		}
	}
	return p, nil
}

// turn puts the links of each route in the order of data that go to the root.
func (tree *Tree) turn() {
	for _, e := range tree.Edges {
		for _, r := range e.Routes {
			slices.Reverse(r.Links)
		}
	}
}

const maxTrees = 1 << 16

// try is a number of trees a root and, where known, what a root then sends.
type try struct {
	k    int
	rate *big.Rat
}

// tries lists numbers of trees in the order to try them: those that might meet
// the bound, fewest first, then some that are taken for the best they can do.
//
// At the bound a root sends x, a tree y = x/k; a link has room for ⌊b/y⌋ trees.
// With y the greatest common divisor of x and all b nothing is lost to rounding:
// then the bound is met. Where few links are as narrow as the bound, fewer trees
// do too.
func tries(net *network, x *big.Rat, most int) (list []try) {
	divisor := new(big.Int).Set(x.Num()) // of x.Num() and all b·x.Denom(), over x.Denom()
	for _, a := range net.arcs {
		b := big.NewInt(a.capacity)
		divisor.GCD(nil, nil, divisor, b.Mul(b, x.Denom()))
	}
	exact := new(big.Int).Quo(x.Num(), divisor)
	for k := 1; k <= most && k <= fewTrees; k++ {
		if exact.Cmp(big.NewInt(int64(k))) > 0 {
			list = append(list, try{k, x})
		}
	}
	if exact.Cmp(big.NewInt(int64(most))) <= 0 {
		return append(list, try{int(exact.Int64()), x})
	}
	for k := most; k > 0; k /= 2 {
		list = append(list, try{k, nil})
	}
	return list
}

// fewTrees is up to which number of trees a root it is looked whether they meet
// the bound, though rounding loses something.
const fewTrees = 16
