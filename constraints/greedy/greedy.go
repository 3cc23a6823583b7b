package greedy

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// Options say what Route has to find.
type Options struct {
	Collective string // allgather if empty; reducescatter, allreduce
	Bytes      int64  // size, as nccl-tests counts it
	// Chunks is the number of chunks in each rank's part of the size. 0 tries
	// several numbers, depending on the size of the system.
	Chunks int
	Alpha  Alpha
	// Tries is how many schedules are made for each number of chunks. 0 means
	// DefaultTries, or fewer on large systems.
	Tries int
	Seed  uint64
}

// DefaultTries is enough to find the best schedules of small systems.
const DefaultTries = 32

// Limits on arrivals, which are ranks times ranks times chunks: of a schedule; of
// a schedule if Options leave the chunks open; and of all asynchronous tries of
// one number of chunks, if Options give it and if they do not.
const (
	maxArrivals = 1 << 26
	fewArrivals = 1 << 22
	manyTries   = 1 << 18
	fewTries    = 1 << 16
)

// near is the gap to the bound below which no other number of chunks is tried.
const near = 0.0005

// numbers of chunks to try if none is given.
var numbers = []int{1, 2, 3, 4, 6, 8, 12, 16, 20, 24}

// Route makes a schedule. The error says that topology and collective do not fit
// together, that some rank can't be reached, or that ctx ended before there was a
// schedule; after that, the best so far is returned.
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

// bound is the time in microseconds that no schedule beats, considering bandwidth
// alone.
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

// find makes schedules and picks the best; least is the bound.
func find(ctx context.Context, t *topologies.Topology, o Options, least float64) (best *Schedule, err error) {
	defer constraints.RecoverDeadline(&err)
	n := len(t.Ranks)
	forward, err := newNetwork(ctx, t, false, o.Alpha)
	if err != nil {
		return nil, err
	}
	backward := forward
	if o.Collective != "allgather" {
		if backward, err = newNetwork(ctx, t, true, o.Alpha); err != nil {
			return nil, err
		}
	}
	list := []int{o.Chunks}
	if o.Chunks == 0 {
		list = list[:0]
		for _, k := range append(numbers, forward.degree()) {
			if !slices.Contains(list, k) && (k == 1 || n*n*k <= fewArrivals) {
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
		if best != nil && best.Gap() < near {
			break
		}
	}
	return best, nil
}

// fill finds what to send, and when. With best, of the same collective, it need not
// find anything that is no better.
func (s *Schedule) fill(o Options, forward, backward *network, best *Schedule) (err error) {
	defer constraints.RecoverDeadline(&err)
	switch chunks, part := s.Chunks, s.part(); o.Collective {
	case "allgather":
		s.Sends, s.TimeUS, s.Method, err = forward.route(chunks, part, o, best)
	case "reducescatter":
		var there []Send
		if there, _, s.Method, err = backward.route(chunks, part, o, best); err == nil {
			s.Sends, s.TimeUS = forward.play(forward.turned(there), chunks, part)
		}
	case "allreduce":
		var there, back []Send
		if there, _, s.Method, err = backward.route(chunks, part, o, nil); err != nil {
			return err
		}
		if back, _, _, err = forward.route(chunks, part, o, nil); err == nil {
			s.Sends, s.TimeUS = forward.play(append(forward.turned(there), forward.messages(back)...), chunks, part)
		}
	}
	return err
}

// degree is the largest number of links into a rank.
func (n *network) degree() int {
	most := 1
	for _, hops := range n.into {
		most = max(most, len(hops))
	}
	return most
}

// route finds the best allgather with so many chunks. If best, of the same
// collective, is given, it need not find one that is no better.
func (n *network) route(chunks int, part float64, o Options, best *Schedule) (sends []Send, end float64, method string, err error) {
	a := &attempts{n: n, chunks: chunks, part: part, arrivals: n.ranks * n.ranks * chunks, floor: n.floor(chunks, part), end: math.Inf(1)}
	if best != nil && o.Collective == "allgather" {
		a.end = best.TimeUS
	}
	if err := a.try(o); err != nil && a.sends == nil {
		return nil, 0, "", err
	}
	return a.sends, a.end, a.method, nil
}

// attempts tracks the best schedule for one number of chunks.
type attempts struct {
	n        *network
	chunks   int
	part     float64 // bytes of a chunk
	arrivals int
	floor    float64 // in microseconds; no schedule is faster

	sends  []Send
	end    float64
	method string
}

// take keeps a schedule if it is better than the best so far.
func (a *attempts) take(sends []Send, end float64, method string) {
	if end < a.end {
		a.sends, a.end, a.method = sends, end, method
	}
}

// done reports whether there can be no better schedule.
func (a *attempts) done() bool { return a.end <= a.floor }

// try makes schedules in every way there is, until nothing better can come. What was
// made by then stays where it ends with an error.
func (a *attempts) try(o Options) (err error) {
	defer constraints.RecoverDeadline(&err)
	n, few := a.n, a.arrivals <= fewMessages
	// With one chunk for each rank and links of several speeds, slow links should
	// sometimes wait, which they can't know by themselves.
	mixed := a.chunks == 1 && n.direct && few && n.mixed()
	if mixed {
		if a.match(); a.done() {
			return nil
		}
	}
	// Where everything is one send away, breadth first makes no difference.
	if a.chunks > 1 || !n.direct || len(n.hops) != n.ranks*(n.ranks-1) {
		a.breadthFirst()
	}
	tries := o.tries(a.chunks, a.arrivals)
	if tries == 0 || a.done() {
		return nil
	}
	found, took, err := a.asynchronous(o.Seed, tries)
	if err != nil {
		return err
	}
	if found != nil {
		a.take(found, took, "asynchronous")
	}
	if !mixed && n.direct && few && !a.done() {
		a.match()
	}
	if found != nil && few && !a.done() {
		got, took := n.improve(a.chunks, a.part, found, a.floor, o.Seed, tries)
		a.take(got, took, "local search")
	}
	return nil
}

// match assigns chunks to links that bring them in time, if possible.
func (a *attempts) match() {
	if list := a.n.matched(a.chunks, a.part, a.floor); list != nil {
		got, took := a.n.play(list, a.chunks, a.part)
		a.take(got, took, "matching")
	}
}

// breadthFirst forwards everything in order of distance.
func (a *attempts) breadthFirst() {
	if list := a.n.breadthFirst(a.chunks); list != nil {
		got, took := a.n.play(list, a.chunks, a.part)
		a.take(got, took, "breadth first")
	}
}

// tries is how many asynchronous schedules are made for so many chunks.
func (o *Options) tries(chunks, arrivals int) int {
	switch {
	case o.Tries > 0:
		return o.Tries
	case o.Chunks > 0:
		return max(1, min(DefaultTries, manyTries/arrivals))
	case chunks == 1: // at least one
		return max(1, min(DefaultTries, fewTries/arrivals))
	}
	return min(DefaultTries, fewTries/arrivals)
}

// asynchronous is the best of several tries, each of which learns from the best
// before it which chunks came late. It finds nothing if all are worse than the
// best schedule so far; but one that is to be improved afterwards may be worse.
func (a *attempts) asynchronous(seed uint64, tries int) (found []Send, took float64, err error) {
	r := newRun(a.n, a.chunks, a.part)
	took = a.end
	if a.arrivals <= fewMessages {
		took = math.Inf(1)
	}
	weight := make([]int32, r.total)
	for i := range tries {
		p := policies[i%len(policies)]
		p.once = p.once && a.n.t.Nodes > 1
		p.patient, p.lazy = p.patient && a.n.direct, p.lazy && a.n.direct
		p.seed = mix(seed, uint64(i), 0)
		if found != nil && i%2 == 1 {
			p.weight = weight
		}
		got, end, err := r.asynchronous(p, took)
		if err != nil && found != nil && a.n.until.Err() != nil {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if got != nil && end < took {
			found, took = got, end
			learnLate(weight, got, end)
			if took <= a.floor {
				break
			}
		}
	}
	return found, took, nil
}

// learnLate raises the preference for chunks that arrived in the last twentieth of
// the time, by one for each rank.
func learnLate(weight []int32, sends []Send, end float64) {
	for _, s := range sends {
		if s.End > end*0.95 {
			for _, c := range s.Chunks {
				weight[c]++
			}
		}
	}
}

// turned turns a schedule of the reversed network into the messages of a
// reduction, in the opposite order.
func (n *network) turned(sends []Send) []message {
	list := make([]message, len(sends))
	order := slices.Clone(sends)
	slices.Reverse(order) // rounding may have what was passed on arrive as soon
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
func (n *network) messages(sends []Send) []message {
	list := make([]message, len(sends))
	for i, s := range sends {
		list[i] = message{hop: n.hopOf(s.From, s.To), chunks: s.Chunks}
	}
	return list
}
