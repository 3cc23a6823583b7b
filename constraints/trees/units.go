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

// Options says what Pack has to find.
type Options struct {
	Collective string // allgather if empty; reducescatter, broadcast, reduce
	Root       int    // of broadcast and reduce
	// MaxTrees limits the trees of a root, which is also the number of chunks that
	// its data are divided into; 0 means DefaultMaxTrees. If the bound needs more,
	// the packing is the best with so many.
	MaxTrees int
}

// DefaultMaxTrees is enough for every system of docs/bounds.md: two MI250 need
// 83.
const DefaultMaxTrees = 128

// kind is a row of the table of collectives that trees can do.
type kind struct {
	reversed bool // data go from the leaves to the root
	rooted   bool // trees from a single root, not from every rank
}

var kinds = map[string]kind{
	"allgather":     {},
	"broadcast":     {rooted: true},
	"reducescatter": {reversed: true},
	"reduce":        {reversed: true, rooted: true},
}

// Collectives lists the collectives that trees can be packed for.
func Collectives() []string {
	var names []string
	for n := range kinds {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Pack packs spanning trees into a topology's links. Its time grows with the
// fourth power of the ranks: 64 take a second, and for 1,000 use package greedy.
// The error says that topology and collective do not fit together, that no tree
// can span the ranks, or that ctx is over.
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
	if err := p.fill(ctx, newNetwork(t, kind.reversed), o.MaxTrees); err != nil {
		return nil, err
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

// fill tries numbers of trees up to a limit, and keeps the packing of the highest
// rate. It keeps none if no such number of trees fits.
func (p *Packing) fill(ctx context.Context, net *network, most int) error {
	wants := make([]int64, p.Ranks) // by root: trees, in units of K
	for r := range wants {
		if !kinds[p.Collective].rooted || r == p.Root {
			wants[r] = 1
		}
	}
	roots := big.NewRat(int64(p.roots()), 1)
	per := new(big.Rat).Quo(p.Bound, roots) // what a root sends at the bound
	for _, try := range tries(net, per, most) {
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

// turn puts the links of each route into the order for data that go to the root.
func (tree *Tree) turn() {
	for _, e := range tree.Edges {
		for _, r := range e.Routes {
			slices.Reverse(r.Links)
		}
	}
}

const maxTrees = 1 << 16

// try is a number of trees for each root and, if known, the rate of a root.
type try struct {
	k    int
	rate *big.Rat
}

// tries lists numbers of trees to try, in order: those that might meet the bound,
// fewest first, then some whose packing is accepted if it is the best possible
// with so many.
//
// At the bound a root sends x, and each tree carries y = x/k, so a link has room
// for ⌊b/y⌋ trees. If y is the greatest common divisor of x and all b, rounding
// loses nothing and the bound is met. If few links are as narrow as the bound,
// fewer trees also do.
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

// fewTrees is the number of trees for each root up to which it is examined whether
// they meet the bound although rounding loses something.
const fewTrees = 16
