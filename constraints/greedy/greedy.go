package greedy

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// Options says what Route schedules.
type Options struct {
	Collective string // allgather, reducescatter or allreduce; "" means allgather
	Bytes      int64  // size, as nccl-tests counts it; at least 1
	// Chunks is the number of chunks in each rank's part of the size. 0 tries several
	// numbers, fewer on large systems.
	Chunks int
	Alpha  Alpha
	// Tries is the number of asynchronous schedules made for each number of chunks. 0
	// means DefaultTries, or fewer on large systems.
	Tries int
	Seed  uint64 // of random choices
}

// DefaultTries suffices to find the best schedules of small systems.
const DefaultTries = 32

// Limits on arrivals, which are ranks × ranks × chunks: in a schedule; in a schedule if
// Options.Chunks is 0; and in all asynchronous tries for one number of chunks, if
// Options.Chunks is given and if it is 0.
const (
	maxArrivals     = 1 << 26
	maxOpenArrivals = 1 << 22
	givenTriesWork  = 1 << 18
	openTriesWork   = 1 << 16
)

// smallGap is the gap to the bound below which no other number of chunks is tried.
const smallGap = 0.0005

// chunkCounts are the numbers of chunks to try if none is given.
var chunkCounts = []int{1, 2, 3, 4, 6, 8, 12, 16, 20, 24}

// Route makes a schedule. If ctx ends, it returns the best schedule so far. The error is
// ctx's if there is none, or says that the options do not fit the topology or that some
// rank cannot be reached.
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
	case o.Chunks < 0 || o.Tries < 0:
		return nil, fmt.Errorf("greedy routing with %d chunks and %d tries: want at least 1, or 0 for what is best", o.Chunks, o.Tries)
	case o.Alpha > Pipelined:
		return nil, fmt.Errorf("latency counted as %d: want blocking or pipelined", o.Alpha)
	case n < 2:
		return nil, fmt.Errorf("greedy routing on %d ranks: want at least 2", n)
	case n*n*max(o.Chunks, 1) > maxArrivals:
		return nil, fmt.Errorf("greedy routing of %d chunks on %d ranks: want at most %d arrivals", max(o.Chunks, 1), n, maxArrivals)
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

// find makes schedules and returns the best. least is the bound.
func find(ctx context.Context, t *topologies.Topology, o Options, least float64) (best *Schedule, err error) {
	n := len(t.Ranks)
	forward, err := newHopGraph(ctx, t, false, o.Alpha)
	if err != nil {
		return nil, err
	}
	backward := forward
	if o.Collective != "allgather" {
		if backward, err = newHopGraph(ctx, t, true, o.Alpha); err != nil {
			return nil, err
		}
	}
	list := []int{o.Chunks}
	if o.Chunks == 0 {
		list = list[:0]
		for _, k := range append(chunkCounts, forward.degree()) {
			if !slices.Contains(list, k) && (k == 1 || n*n*k <= maxOpenArrivals) {
				list = append(list, k)
			}
		}
	}
	for _, chunks := range list {
		s := &Schedule{Topology: t.Name, Collective: o.Collective, Ranks: n, Bytes: o.Bytes, Chunks: chunks, Alpha: o.Alpha, BoundUS: least}
		if err := s.fill(o, forward, backward, best); err != nil {
			if best != nil && ctx.Err() != nil {
				break
			}
			return nil, err
		}
		if len(s.Sends) > 0 && (best == nil || s.TimeUS < best.TimeUS) {
			byStart(s.Sends)
			best = s
		}
		if best != nil && best.Gap() < smallGap {
			break
		}
	}
	return best, nil
}

// fill fills in the sends and their times. It may give up on schedules that are no better
// than best, which is of the same collective or nil.
func (s *Schedule) fill(o Options, forward, backward *hopGraph, best *Schedule) (err error) {
	switch chunks, part := s.Chunks, s.chunkBytes(); o.Collective {
	case "allgather":
		s.Sends, s.TimeUS, s.Method, err = forward.route(chunks, part, o, best)
	case "reducescatter":
		var there []Send
		if there, _, s.Method, err = backward.route(chunks, part, o, best); err == nil {
			s.Sends, s.TimeUS = forward.play(forward.reverse(there), chunks, part)
		}
	case "allreduce":
		var there, back []Send
		if there, _, s.Method, err = backward.route(chunks, part, o, nil); err != nil {
			return err
		}
		if back, _, _, err = forward.route(chunks, part, o, nil); err == nil {
			s.Sends, s.TimeUS = forward.play(append(forward.reverse(there), forward.messages(back)...), chunks, part)
		}
	}
	if err == nil && s.Sends == nil {
		err = forward.ctx.Err()
	}
	return err
}

// degree returns the largest number of hops into a rank.
func (n *hopGraph) degree() int {
	most := 1
	for _, hops := range n.in {
		most = max(most, len(hops))
	}
	return most
}

// route finds the best allgather with a number of chunks for each rank. It may give up on
// schedules that are no better than best, which is of the same collective or nil.
func (n *hopGraph) route(chunks int, part float64, o Options, best *Schedule) (sends []Send, end float64, method string, err error) {
	a := &attempts{n: n, chunks: chunks, part: part, arrivals: n.ranks * n.ranks * chunks, lowerBound: n.lowerBound(chunks, part), end: math.Inf(1)}
	if best != nil && o.Collective == "allgather" {
		a.end = best.TimeUS
	}
	if err := a.tryMethods(o); err != nil && a.sends == nil {
		return nil, 0, "", err
	}
	return a.sends, a.end, a.method, nil
}

// attempts tracks the best schedule for one number of chunks.
type attempts struct {
	n          *hopGraph
	chunks     int
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
func (a *attempts) tryMethods(o Options) (err error) {
	n, few := a.n, a.arrivals <= maxImprovedMessages
	// With one chunk for each rank and links of several speeds, slow links should
	// sometimes wait, which asynchronous schedules rarely find.
	mixed := a.chunks == 1 && n.disjoint && few && n.mixed()
	if mixed {
		if a.tryMatching(); a.optimal() {
			return nil
		}
	}
	// In a complete graph, breadth first finds nothing new.
	if a.chunks > 1 || !n.disjoint || len(n.hops) != n.ranks*(n.ranks-1) {
		a.tryBreadthFirst()
	}
	tries := o.tries(a.chunks, a.arrivals)
	if tries == 0 || a.optimal() {
		return n.ctx.Err()
	}
	found, took, err := a.bestAsynchronous(o.Seed, tries)
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
		got, took := n.improve(a.chunks, a.part, found, a.lowerBound, o.Seed, tries)
		a.keepBest(got, took, "local search")
	}
	return n.ctx.Err()
}

// tryMatching assigns chunks to messages that meet the lower bound, if possible.
func (a *attempts) tryMatching() {
	if list := a.n.match(a.chunks, a.part, a.lowerBound); list != nil {
		got, took := a.n.play(list, a.chunks, a.part)
		a.keepBest(got, took, "matching")
	}
}

// tryBreadthFirst forwards chunks in order of distance.
func (a *attempts) tryBreadthFirst() {
	if list := a.n.breadthFirst(a.chunks); list != nil {
		got, took := a.n.play(list, a.chunks, a.part)
		a.keepBest(got, took, "breadth first")
	}
}

// tries returns the number of asynchronous schedules to make for a number of chunks.
func (o *Options) tries(chunks, arrivals int) int {
	switch {
	case o.Tries > 0:
		return o.Tries
	case o.Chunks > 0:
		return max(1, min(DefaultTries, givenTriesWork/arrivals))
	case chunks == 1: // at least one
		return max(1, min(DefaultTries, openTriesWork/arrivals))
	}
	return min(DefaultTries, openTriesWork/arrivals)
}

// bestAsynchronous returns the best of several asynchronous schedules. Every second try
// prefers chunks that arrived late in the best before it. It returns nil if all are worse
// than the best schedule so far, unless local search will follow.
func (a *attempts) bestAsynchronous(seed uint64, tries int) (found []Send, took float64, err error) {
	r := newRun(a.n, a.chunks, a.part)
	took = a.end
	if a.arrivals <= maxImprovedMessages {
		took = math.Inf(1)
	}
	weight := make([]int32, r.total)
	for i := range tries {
		p := policies[i%len(policies)]
		p.once = p.once && a.n.t.Nodes > 1
		p.patient, p.lazy = p.patient && a.n.disjoint, p.lazy && a.n.disjoint
		p.seed = hash(seed, uint64(i), 0)
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
	list := make([]message, len(sends))
	for i, s := range sends {
		list[i] = message{hop: n.hopOf(s.From, s.To), chunks: s.Chunks}
	}
	return list
}
