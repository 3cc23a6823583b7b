package greedy

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// Options says what Route schedules.
type Options struct {
	Collective string // allgather, reducescatter or allreduce; "" means allgather
	Bytes      int64  // size, as nccl-tests counts it; at least 1
}

// Limits on arrivals, which are ranks × ranks: in a schedule; and in all asynchronous tries,
// of which there are maxTries at most.
const (
	maxArrivals = 1 << 26
	triesWork   = 1 << 18
	maxTries    = 32
)

// Route makes a schedule in which each rank's part is one chunk. If ctx ends, it returns the best
// schedule so far. The error is ctx's if there is none, or says that the options do not fit the
// topology or that some rank cannot be reached.
func Route(ctx context.Context, t *topologies.Topology, o Options) (*Schedule, error) {
	if o.Collective == "" {
		o.Collective = "allgather"
	}
	n := len(t.Ranks)
	switch {
	case o.Collective != "allgather" && o.Collective != "reducescatter" && o.Collective != "allreduce":
		return nil, fmt.Errorf("greedy routing of %s: want allgather, reducescatter or allreduce", o.Collective)
	case o.Bytes < 1:
		return nil, fmt.Errorf("greedy routing of %d B: want at least 1", o.Bytes)
	case n < 2:
		return nil, fmt.Errorf("greedy routing on %d ranks: want at least 2", n)
	case n*n > maxArrivals:
		return nil, fmt.Errorf("greedy routing on %d ranks: want at most %d arrivals", n, maxArrivals)
	}
	least, err := bound(ctx, t, o)
	if err != nil {
		return nil, err
	}
	return find(ctx, t, o, least)
}

// bound returns the lower bound of package bounds on the time, in microseconds, by
// bandwidth alone.
func bound(ctx context.Context, t *topologies.Topology, o Options) (float64, error) {
	n := len(t.Ranks)
	c, err := collective.New(collective.Spec{Name: o.Collective, Ranks: n, Chunks: n})
	if err != nil {
		return 0, err
	}
	b, err := bounds.Of(ctx, t, c)
	if err != nil {
		return 0, err
	}
	if b.AlgbwBps.Sign() == 0 {
		return 0, fmt.Errorf("greedy routing on %s: not every rank can reach every other", t.Name)
	}
	seconds, _ := new(big.Rat).Quo(new(big.Rat).SetInt64(o.Bytes), b.AlgbwBps).Float64()
	return 1e6 * seconds, nil
}

// find makes a schedule. least is the bound.
func find(ctx context.Context, t *topologies.Topology, o Options, least float64) (*Schedule, error) {
	forward, err := newHopGraph(ctx, t, false)
	if err != nil {
		return nil, err
	}
	backward := forward
	if o.Collective != "allgather" {
		if backward, err = newHopGraph(ctx, t, true); err != nil {
			return nil, err
		}
	}
	s := &Schedule{Collective: o.Collective, Ranks: len(t.Ranks), Bytes: o.Bytes, BoundUS: least}
	if err := s.fill(forward, backward); err != nil {
		return nil, err
	}
	byStart(s.Sends)
	return s, nil
}

// fill fills in the sends and their times.
func (s *Schedule) fill(forward, backward *hopGraph) (err error) {
	switch part := s.chunkBytes(); s.Collective {
	case "allgather":
		s.Sends, s.TimeUS, s.Method, err = forward.route(part)
	case "reducescatter":
		var there []Send
		if there, _, s.Method, err = backward.route(part); err == nil {
			s.Sends, s.TimeUS = forward.play(forward.reverse(there), part)
		}
	case "allreduce":
		var there, back []Send
		if there, _, s.Method, err = backward.route(part); err != nil {
			return err
		}
		if back, _, _, err = forward.route(part); err == nil {
			s.Sends, s.TimeUS = forward.play(append(forward.reverse(there), forward.messages(back)...), part)
		}
	}
	if err == nil && s.Sends == nil {
		err = forward.ctx.Err()
	}
	return err
}

// route finds the best allgather of chunks of part bytes, one of each rank.
func (n *hopGraph) route(part float64) (sends []Send, end float64, method string, err error) {
	a := &attempts{n: n, part: part, arrivals: n.ranks * n.ranks, lowerBound: n.lowerBound(part), end: math.Inf(1)}
	if err := a.tryMethods(); err != nil && a.sends == nil {
		return nil, 0, "", err
	}
	return a.sends, a.end, a.method, nil
}

// attempts tracks the best schedule.
type attempts struct {
	n          *hopGraph
	part       float64 // bytes of a chunk
	arrivals   int
	lowerBound float64 // in microseconds; no schedule is faster

	sends  []Send
	end    float64
	method string
}

// keepBest stores a schedule if it is better than the best so far.
func (a *attempts) keepBest(sends []Send, end float64, method string) {
	if end < a.end {
		a.sends, a.end, a.method = sends, end, method
	}
}

// optimal reports whether the best schedule meets the lower bound.
func (a *attempts) optimal() bool { return a.end <= a.lowerBound }

// tryMethods makes schedules by each method until one is optimal. After an error, the best
// schedule so far is still valid.
func (a *attempts) tryMethods() (err error) {
	n, few := a.n, a.arrivals <= maxImprovedMessages
	// With links of several speeds, slow ones should sometimes wait, which asynchronous
	// schedules rarely find.
	mixed := n.disjoint && few && n.mixed()
	if mixed {
		if a.tryMatching(); a.optimal() {
			return nil
		}
	}
	// In a complete graph, breadth first finds nothing new.
	if !n.disjoint || len(n.hops) != n.ranks*(n.ranks-1) {
		a.tryBreadthFirst()
	}
	if a.optimal() {
		return n.ctx.Err()
	}
	tries := max(1, min(maxTries, triesWork/a.arrivals))
	found, took, err := a.bestAsynchronous(tries)
	if err != nil {
		return err
	}
	if found != nil {
		a.keepBest(found, took, "asynchronous")
	}
	if !mixed && n.disjoint && few && !a.optimal() {
		a.tryMatching()
	}
	if found != nil && few && !a.optimal() {
		got, took := n.improve(a.part, found, a.lowerBound, tries)
		a.keepBest(got, took, "local search")
	}
	return n.ctx.Err()
}

// tryMatching assigns chunks to messages that meet the lower bound, if possible.
func (a *attempts) tryMatching() {
	if list := a.n.match(a.part, a.lowerBound); list != nil {
		got, took := a.n.play(list, a.part)
		a.keepBest(got, took, "matching")
	}
}

// tryBreadthFirst forwards chunks in order of distance.
func (a *attempts) tryBreadthFirst() {
	if list := a.n.breadthFirst(); list != nil {
		got, took := a.n.play(list, a.part)
		a.keepBest(got, took, "breadth first")
	}
}

// bestAsynchronous returns the best of several asynchronous schedules. Every second try
// prefers chunks that arrived late in the best before it. It returns nil if all are worse
// than the best schedule so far, unless local search will follow.
func (a *attempts) bestAsynchronous(tries int) (found []Send, took float64, err error) {
	r := newRun(a.n, a.part)
	took = a.end
	if a.arrivals <= maxImprovedMessages {
		took = math.Inf(1)
	}
	weight := make([]int32, r.ranks)
	for i := range tries {
		p := policies[i%len(policies)]
		p.once = p.once && a.n.t.Nodes > 1
		p.patient, p.lazy = p.patient && a.n.disjoint, p.lazy && a.n.disjoint
		p.seed = hash(0, uint64(i), 0)
		if found != nil && i%2 == 1 {
			p.weight = weight
		}
		got, end, err := r.asynchronous(p, took)
		if err != nil && found != nil && a.n.ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if got != nil && end < took {
			found, took = got, end
			preferLate(weight, got, end)
			if took <= a.lowerBound {
				break
			}
		}
	}
	return found, took, nil
}

// preferLate raises the weight of chunks that arrived in the last twentieth of the time, by
// one for each rank.
func preferLate(weight []int32, sends []Send, end float64) {
	for _, s := range sends {
		if s.End > end*0.95 {
			for _, c := range s.Chunks {
				weight[c]++
			}
		}
	}
}

// reverse converts a schedule of the reversed network into the messages of a reduction, in
// the opposite order.
func (n *hopGraph) reverse(sends []Send) []message {
	list := make([]message, len(sends))
	order := slices.Clone(sends)
	slices.Reverse(order) // for sends that end at the same time because of rounding
	slices.SortStableFunc(order, func(a, b Send) int {
		switch {
		case a.End > b.End:
			return -1
		case a.End < b.End:
			return 1
		}
		return 0
	})
	for i, s := range order {
		list[i] = message{hop: n.hopOf(s.To, s.From), reduce: true, chunks: s.Chunks}
	}
	return list
}

// messages strips the times from sends.
func (n *hopGraph) messages(sends []Send) []message {
	return lists.Map(sends, func(s Send) message { return message{hop: n.hopOf(s.From, s.To), chunks: s.Chunks} })
}
