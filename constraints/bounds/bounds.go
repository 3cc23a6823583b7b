package bounds

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// Bound is an upper bound on bandwidth and a lower bound on latency that hold for
// every routing of a collective on a topology.
type Bound struct {
	// LatencySteps is the greatest number of consecutive sends from rank to rank
	// that some datum needs on its shortest path.
	LatencySteps int
	// LatencyUS is the greatest sum of link latencies, in microseconds, that some
	// datum needs on its fastest path.
	LatencyUS float64
	// AlgbwBps bounds size over time, in bytes a second; nil if nothing has to move.
	// Size is as nccl-tests counts it: the buffer of a rank for allreduce,
	// broadcast, reduce, alltonext, sendrecv and alltoall, and the total that is
	// gathered or scattered for the others.
	AlgbwBps *big.Rat
	// Exact is AlgbwBps in GB/s as a fraction, such as 2400/7; empty if AlgbwBps is
	// nil.
	Exact string
	// Cut is the set of ranks, in rising order, whose outgoing capacity is the
	// bound; nil if the bound is not a cut's.
	Cut []int
	// ReachedBps is the bandwidth of a multicommodity flow that was found, but for
	// rounding. If it equals AlgbwBps, both are optimal. It is 0 if none was looked for.
	ReachedBps float64
	// Composed is the bandwidth of an allreduce made of a reducescatter and an
	// allgather, each at its own bound. It does not bound allreduce, but most
	// programs do not exceed it. It is nil for other collectives.
	Composed *big.Rat
	// Lengths, if not nil, has a length for each edge of the topology that proves
	// the bound: the sum of bandwidths times lengths, divided by the sum of the
	// parts of the size times the distances they have to go.
	Lengths []int64
	// Proof is the argument for the bound, in a sentence.
	Proof string
}

// roundingMargin keeps rounding from raising TimeUS above the true bound.
const roundingMargin = 1 - 1e-12

// TimeUS returns the least time, in microseconds, of a call of a size in bytes, as
// AlgbwBps counts size. Latency and bandwidth can overlap, so it is the larger of the
// two. A time that was added up in another order can be less by a rounding error, of at
// most one part in 10¹².
func (b Bound) TimeUS(bytes int64) float64 {
	if b.AlgbwBps == nil {
		return roundDown(b.LatencyUS)
	}
	rate, _ := b.AlgbwBps.Float64()
	return roundDown(math.Max(b.LatencyUS, float64(bytes)/rate*1e6))
}

// roundDown removes the rounding errors of a sum. It returns the nearest decimal of
// twelve digits if that differs by rounding only, and otherwise a little less than us.
func roundDown(us float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(us, 'g', 12, 64), 64)
	if err == nil && math.Abs(short-us) <= 1e-14*us {
		return short
	}
	return us * roundingMargin
}

// bandwidthBound is one bound on the bandwidth, with its proof. Without algbw it
// bounds nothing.
type bandwidthBound struct {
	algbw   *big.Rat // size a second, in the network's units of capacity
	cut     []int
	lengths []int64
	reached float64 // bandwidth of a flow that was found; 0: none was looked for
	proof   string
}

// tighten replaces l by o if o is less.
func (l *bandwidthBound) tighten(o bandwidthBound) {
	if l.algbw == nil || o.algbw != nil && o.algbw.Cmp(l.algbw) < 0 {
		*l = o
	}
}

// bandwidthRules is the table of collectives and their bounds on bandwidth.
var bandwidthRules = map[string]func(p *problem) bandwidthBound{
	"allgather":     func(p *problem) bandwidthBound { return p.allToSinks(p.forward, p.representatives()) },
	"reducescatter": func(p *problem) bandwidthBound { return p.allToSinks(p.backward, p.representatives()) },
	"gather":        func(p *problem) bandwidthBound { return p.allToSinks(p.forward, []int{p.c.Root}) },
	"scatter":       func(p *problem) bandwidthBound { return p.allToSinks(p.backward, []int{p.c.Root}) },
	"broadcast":     func(p *problem) bandwidthBound { return p.fromRoot(p.forward, p.c.Root) },
	"reduce":        func(p *problem) bandwidthBound { return p.fromRoot(p.backward, p.c.Root) },
	"allreduce":     (*problem).allReduce,
	"alltoall": func(p *problem) bandwidthBound {
		if p.c.Counts != nil {
			return p.pointToPoint(countedPairs(p.c.Counts))
		}
		return p.pointToPoint(allPairs)
	},
	"alltonext": func(p *problem) bandwidthBound { return p.pointToPoint(nextRank) },
	"sendrecv":  func(p *problem) bandwidthBound { return p.pointToPoint(ringNext) },
}

// problem is a topology and a collective, with the flow networks in both
// directions.
type problem struct {
	ctx                  context.Context // see ended
	t                    *topologies.Topology
	c                    collective.Collective
	n                    int
	forward              *scaledNetwork
	backward             *scaledNetwork // with every link reversed
	nodesInterchangeable bool           // any two nodes are interchangeable
	allPairOrbits        *orbits        // of everybody sending to everybody, once looked for
	ranksTested          bool           // whether all ranks may change places at will
	rankGenerators       [][]int        // what generates that; nil where they may not
	skipped              []string       // what was looked at in part
}

func newProblem(ctx context.Context, t *topologies.Topology, c collective.Collective, forward *scaledNetwork) *problem {
	return &problem{ctx: ctx, t: t, c: c, n: len(t.Ranks), forward: forward, backward: forward.reversed(), nodesInterchangeable: c.Counts == nil && interchangeable(t)}
}

// Of bounds a collective on a topology. If a row's work limit is met, the bound holds
// but may not be the tightest, and Proof says so. The error is ctx's, or says that the
// collective has no bound here, that the ranks do not match, or that there are no
// links.
func Of(ctx context.Context, t *topologies.Topology, c collective.Collective) (b Bound, err error) {
	rule, ok := bandwidthRules[collective.Plain(c.Name)]
	asTable := c.Counts != nil || c.Custom != nil
	switch {
	case !ok && !asTable:
		return Bound{}, fmt.Errorf("collective %s has no bound: want one of %v", c.Name, names())
	case c.Ranks != len(t.Ranks):
		return Bound{}, fmt.Errorf("%s over %d ranks on %s of %d: want as many", c.Name, c.Ranks, t.Name, len(t.Ranks))
	case c.Ranks == 1:
		return Bound{Proof: "one rank sends nothing"}, nil
	}
	parts := max(int64(c.Ranks), total(c.Counts))
	forward, err := newNetwork(t, parts)
	if err != nil {
		return Bound{}, err
	}
	p := newProblem(ctx, t, c, forward)
	var l bandwidthBound
	if asTable {
		k := needsOf(c)
		if k == nil {
			return Bound{Proof: fmt.Sprintf("%s has too many chunks to examine one by one", c.Name)}, nil
		}
		b.LatencySteps, b.LatencyUS = p.needsLatency(k)
		if l = p.perRankBound(k); l.algbw == nil {
			b.Proof = "nothing has to move"
			return b, nil
		}
		if c.Counts != nil {
			delivered := rule(p)
			l.tighten(delivered)
			l.reached = delivered.reached
		}
	} else {
		b.LatencySteps, b.LatencyUS = p.latency()
		l = rule(p)
		if c.Name == "alltoallv" {
			l.ofTotal(c.Ranks)
		}
	}
	if err := ctx.Err(); err != nil {
		return Bound{}, err
	}
	p.fill(&b, l)
	return b, ctx.Err()
}

// ofTotal converts a bound on what each rank sends into one on what all ranks send,
// which is the size of an alltoallv.
func (l *bandwidthBound) ofTotal(ranks int) {
	all := big.NewRat(int64(ranks), 1)
	l.algbw = new(big.Rat).Mul(l.algbw, all)
	l.reached *= float64(ranks)
	l.proof = "of what each rank sends, " + l.proof
}

// fill copies a bandwidth bound into b, in bytes a second.
func (p *problem) fill(b *Bound, l bandwidthBound) {
	unit := new(big.Rat).SetInt64(p.forward.unit)
	b.AlgbwBps = new(big.Rat).Mul(l.algbw, unit)
	if !p.forward.roundedUp {
		b.ReachedBps = l.reached * float64(p.forward.unit)
	}
	if p.c.Name == "allreduce" {
		b.Composed = p.composed()
		b.Composed.Mul(b.Composed, unit)
	}
	b.Exact = new(big.Rat).Quo(b.AlgbwBps, big.NewRat(1e9, 1)).RatString()
	b.Cut, b.Lengths, b.Proof = l.cut, l.lengths, l.proof
	if len(p.skipped) > 0 {
		b.Proof += "; to limit the work, only " + strings.Join(p.skipped, ", ") + " were examined"
	}
}

func names() []string { return slices.Sorted(maps.Keys(bandwidthRules)) }
