package bounds

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// Bound is what no routing of a collective on a topology can beat.
type Bound struct {
	// LatencySteps is the least number of consecutive sends from rank to rank that
	// some needed datum takes.
	LatencySteps int
	// LatencyUS is the least sum of link latencies, in microseconds, that some
	// needed datum incurs.
	LatencyUS float64
	// AlgbwBps bounds size over time, in bytes a second; it is nil if nothing has
	// to move. Size is what nccl-tests prints: the buffer of a rank for allreduce,
	// broadcast, reduce, alltonext, sendrecv and alltoall, and the total that is
	// gathered or scattered for the others.
	AlgbwBps *big.Rat
	// Exact is AlgbwBps in GB/s as a fraction, such as 2400/7; empty if that is
	// nil.
	Exact string
	// Cut is the set of ranks, in rising order, whose data can leave it no faster;
	// nil if the bound is one on all traffic.
	Cut []int
	// Reached is the bandwidth of a way of sending everything, found by
	// multicommodity flow. If it equals AlgbwBps, no bound can be lower. It is nil
	// if none was looked for.
	Reached *big.Rat
	// Composed is the bandwidth of an allreduce made of a reducescatter and an
	// allgather, each at its own bound. It does not bound an allreduce, but most
	// programs cannot exceed it. It is nil for other collectives.
	Composed *big.Rat
	// Lengths, if not nil, is a length for every edge of the topology, and proves
	// the bound: the sum of bandwidths times lengths, divided by the sum of the
	// parts of the size times the distances they have to go.
	Lengths []int64
	// Proof is the argument for the bound, in a sentence.
	Proof string
}

// slack makes sure that rounding does not raise TimeUS.
const slack = 1 - 1e-12

// TimeUS is the least time, in microseconds, that a call of so many bytes can
// take. Latency and bandwidth can overlap, so it is the larger of the two. A time
// that was summed up in another order can be less by a rounding error, of at most
// one part in 10¹².
func (b Bound) TimeUS(bytes int64) float64 {
	if b.AlgbwBps == nil {
		return settled(b.LatencyUS)
	}
	rate, _ := b.AlgbwBps.Float64()
	return settled(math.Max(b.LatencyUS, float64(bytes)/rate*1e6))
}

// settled removes the rounding errors of a sum: it is the nearest decimal of
// twelve digits if that differs by rounding only, or else a little less than us.
func settled(us float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(us, 'g', 12, 64), 64)
	if err == nil && math.Abs(short-us) <= 1e-14*us {
		return short
	}
	return us * slack
}

// limit is one row: a bound on the bandwidth, with its reason.
type limit struct {
	algbw   *big.Rat // in units of capacity a second, of size
	cut     []int
	lengths []int64
	reached *big.Rat // what a flow that was found achieves
	proof   string
}

// least keeps the tighter of two rows; of equals, the first.
func (l *limit) least(o limit) {
	if l.algbw == nil || o.algbw != nil && o.algbw.Cmp(l.algbw) < 0 {
		*l = o
	}
}

// rules is the table of collectives, with what bounds the bandwidth of each.
var rules = map[string]func(p *problem) limit{
	"allgather":     func(p *problem) limit { return p.spread(p.forward, p.representatives()) },
	"reducescatter": func(p *problem) limit { return p.spread(p.backward, p.representatives()) },
	"gather":        func(p *problem) limit { return p.spread(p.forward, []int{p.c.Root}) },
	"scatter":       func(p *problem) limit { return p.spread(p.backward, []int{p.c.Root}) },
	"broadcast":     func(p *problem) limit { return p.fan(p.forward, p.c.Root) },
	"reduce":        func(p *problem) limit { return p.fan(p.backward, p.c.Root) },
	"allreduce":     (*problem).combine,
	"alltoall": func(p *problem) limit {
		if p.c.Counts != nil {
			return p.deliver(counted(p.c.Counts))
		}
		return p.deliver(everyPair)
	},
	"alltonext": func(p *problem) limit { return p.deliver(nextPair) },
	"sendrecv":  func(p *problem) limit { return p.deliver(ringPair) },
}

// problem is a topology and a collective, with the flow networks in both
// directions.
type problem struct {
	ctx      context.Context // see look
	t        *topologies.Topology
	c        collective.Collective
	n        int
	forward  *network
	backward *network // with every link reversed
	alike    bool     // any two nodes are interchangeable
	everyone *orbits  // of everybody sending to everybody, once looked for
	tried    bool     // whether all ranks may change places at will
	anyone   [][]int  // what generates that; nil where they may not
	left     []string // what was looked at in part
}

func newProblem(ctx context.Context, t *topologies.Topology, c collective.Collective, forward *network) *problem {
	return &problem{ctx: ctx, t: t, c: c, n: len(t.Ranks), forward: forward, backward: forward.turned(), alike: c.Counts == nil && interchangeable(t)}
}

// Of bounds a collective on a topology. The error says that they do not fit
// together, or is the context's.
func Of(ctx context.Context, t *topologies.Topology, c collective.Collective) (b Bound, err error) {
	defer stopped(&err)
	rule, ok := rules[collective.Plain(c.Name)]
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
	var l limit
	if asTable {
		k := neededBy(c)
		if k == nil {
			return Bound{Proof: fmt.Sprintf("%s has too many chunks to look at one by one", c.Name)}, nil
		}
		b.LatencySteps, b.LatencyUS = p.wantedLatency(k)
		if l = p.wanted(k); l.algbw == nil {
			b.Proof = "nothing has to move"
			return b, nil
		}
		if c.Counts != nil {
			delivered := rule(p)
			l.least(delivered)
			l.reached = delivered.reached
		}
	} else {
		b.LatencySteps, b.LatencyUS = p.latency()
		l = rule(p)
		if c.Name == "alltoallv" {
			l.ofTotal(c.Ranks)
		}
	}
	p.fill(&b, l)
	return b, nil
}

// ofTotal has a row that is of what each rank sends be of what all ranks send, as
// the size of an alltoallv is.
func (l *limit) ofTotal(ranks int) {
	all := big.NewRat(int64(ranks), 1)
	l.algbw = new(big.Rat).Mul(l.algbw, all)
	if l.reached != nil {
		l.reached.Mul(l.reached, all)
	}
	l.proof = "of what each rank sends, " + l.proof
}

// fill gives a bound what a row says of the bandwidth.
func (p *problem) fill(b *Bound, l limit) {
	unit := new(big.Rat).SetInt64(p.forward.unit)
	b.AlgbwBps = new(big.Rat).Mul(l.algbw, unit)
	if l.reached != nil && !p.forward.loose {
		b.Reached = l.reached.Mul(l.reached, unit)
	}
	if p.c.Name == "allreduce" {
		b.Composed = p.composed()
		b.Composed.Mul(b.Composed, unit)
	}
	b.Exact = new(big.Rat).Quo(b.AlgbwBps, big.NewRat(1e9, 1)).RatString()
	b.Cut, b.Lengths, b.Proof = l.cut, l.lengths, l.proof
	if len(p.left) > 0 {
		b.Proof += "; for the work it is, only " + strings.Join(p.left, ", ") + " were looked at"
	}
}

func names() []string {
	all := make([]string, 0, len(rules))
	for n := range rules {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

func rising(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
