package synth

import (
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Query asks for a routing of a collective in at most Steps steps and Rounds rounds.
type Query struct {
	Topology   *topologies.Topology
	Collective collective.Collective // its Chunks are the collective's own: see ChunksOf
	Steps      int
	Rounds     int             // of all steps together; each step has at least one
	Unit       units.Bandwidth // bandwidth of one chunk a round; 0 means that of the slowest link any lane uses
}

// Answer is the outcome of a query.
type Answer struct {
	Status solver.Status
	// By is the method that settled it: Bound, Known, Packing, or the name of the solver.
	By       string
	Detail   string   // Unsat by a bound: the argument; Known: the file; Timeout: which limit was met
	Schedule Schedule // Sat: confirmed by Replay
	Items    []Item   // by Send.Item
	Unit     units.Bandwidth
	Seconds  float64 // wall-clock time
}

// Values of Answer.By for bounds, for known routings, and for routings found by packing
// branchings.
const (
	Bound   = "bound"
	Known   = "known"
	Packing = "packing"
)

// ChunksOf converts the number of chunks as the literature counts them, which for
// an alltoall divides a rank's whole input, into the collective's own. For an alltoall,
// chunks that are no multiple of ranks are an error.
func ChunksOf(name string, ranks, chunks int) (int, error) {
	if name != "alltoall" {
		return chunks, nil
	}
	if chunks%ranks != 0 {
		return 0, fmt.Errorf("%d chunks of an alltoall over %d ranks: want a multiple of %d", chunks, ranks, ranks)
	}
	return chunks / ranks, nil
}

// item is a chunk that starts at a source rank and is wanted at others. In a reduction it
// is an index of the data: every rank starts with a contribution, and the sum is wanted.
type item struct {
	source int     // the rank whose input it is; -1 in a reduction
	index  int     // which chunk of the input
	wanted []int   // ranks that want it, in rising order, including the source if it does
	out    [][]int // for each of them, the places in its output
}

// problem is a query with its items and its network.
type problem struct {
	Query
	net     *network
	forward *network // the network before reversal: see reversedProblem
	items   []item
	reduces bool
	// classes groups interchangeable items: those with the same source that are
	// wanted by the same ranks.
	classes           [][]int
	automorphismCache *[]automorphism // the automorphisms, once looked for
	ctx               context.Context // ends bounds and formulas; their results then mean nothing
	frontier          *frontierCache  // nil for a query by itself
}

// Limits of a query that is stated to a solver.
const (
	maxItems = 1 << 14
	maxSteps = 1 << 10
	maxRound = 1 << 12
)

// QueryError means that a query is invalid.
type QueryError struct{ error }

// Unwrap returns the reason.
func (e *QueryError) Unwrap() error { return e.error }

// TooFewStepsError means that every routing takes more steps than FrontierOptions.Steps.
type TooFewStepsError struct{ error }

// Unwrap returns the reason.
func (e *TooFewStepsError) Unwrap() error { return e.error }

// newProblem builds a query's network and items.
func newProblem(ctx context.Context, q Query) (*problem, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	net, err := newNetwork(ctx, q.Topology, q.Unit)
	if err != nil {
		return nil, err
	}
	return q.problemOn(ctx, net)
}

// problemOn returns the problem of a valid query on its topology's network. If ctx ends while
// items are listed, it returns ctx's error.
func (q Query) problemOn(ctx context.Context, net *network) (*problem, error) {
	p := &problem{Query: q, net: net, forward: net, ctx: ctx}
	if err := p.listItems(); err != nil {
		return nil, err
	}
	p.classify()
	return p, nil
}

// withCollective returns the problem of another collective on the same network, with the
// same context.
func (p *problem) withCollective(c collective.Collective, steps, rounds int) (*problem, error) {
	q := Query{Topology: p.Topology, Collective: c, Steps: steps, Rounds: rounds, Unit: p.net.unit}
	if err := q.validate(); err != nil {
		return nil, err
	}
	o, err := q.problemOn(p.ctx, p.forward)
	if err == nil {
		o.frontier = p.frontier
	}
	return o, err
}

// withChunks returns the problem of other numbers of chunks, steps and rounds. Chunks are the
// collective's own.
func (p *problem) withChunks(chunks, steps, rounds int) (*problem, error) {
	spec := p.Collective.Spec
	spec.Chunks = chunks
	c, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	return p.withCollective(c, steps, rounds)
}

// validate returns a *QueryError if the query is invalid.
func (q Query) validate() error {
	c := q.Collective
	var err error
	switch {
	case q.Topology == nil || c.Ranks != len(q.Topology.Ranks):
		err = fmt.Errorf("%s over %s: want as many as the topology has", c.Name, plural(c.Ranks, "rank"))
	case c.Ranks < 2:
		err = fmt.Errorf("%s over %s moves nothing: want 2 ranks or more", c.Name, plural(c.Ranks, "rank"))
	case q.Steps < 1 || q.Steps > maxSteps:
		err = fmt.Errorf("%d steps: want 1 to %d", q.Steps, maxSteps)
	case q.Rounds < q.Steps || q.Rounds > maxRound:
		err = fmt.Errorf("rounds R=%d for steps S=%d: want at least one a step, and at most %d", q.Rounds, q.Steps, maxRound)
	}
	if err != nil {
		return &QueryError{err}
	}
	return nil
}

// mostChunks returns the largest number of chunks of a query, as the literature counts
// them.
func (p *problem) mostChunks() int {
	return maxItems * p.Collective.Chunks / len(p.items) * p.perChunk()
}

func (p *problem) tooManyChunks() error {
	c := p.Collective
	if c.Chunks > 1 {
		if one, err := p.withChunks(1, 1, 1); err == nil {
			return &QueryError{fmt.Errorf("%d chunks: want at most %d of %s over %d ranks", c.Chunks*p.perChunk(), one.mostChunks(), c.Name, c.Ranks)}
		}
	}
	return &QueryError{fmt.Errorf("%s over %d ranks has more than %d chunks: want fewer ranks", c.Name, c.Ranks, maxItems)}
}

// listItems derives the items from the collective's postcondition. The error is a
// *QueryError, or that of the problem's context.
func (p *problem) listItems() error {
	c := p.Collective
	type key struct{ source, index int }
	number := map[key]int{}
	for r := range c.Ranks {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		for i := range c.OutChunks(r) {
			w := c.Want(r, i)
			k := key{w.Rank, w.Index}
			switch w.Kind {
			case collective.WantNothing:
				continue
			case collective.WantReduction:
				p.reduces = true
				k.source = -1
			case collective.WantSum:
				return &QueryError{fmt.Errorf("%s sums some ranks' chunks only: routings of such are not synthesised", c.Name)}
			}
			at, ok := number[k]
			if !ok {
				if at = len(p.items); at == maxItems {
					return p.tooManyChunks()
				}
				number[k] = at
				p.items = append(p.items, item{source: k.source, index: k.index})
			}
			it := &p.items[at]
			if n := len(it.wanted); n == 0 || it.wanted[n-1] != r {
				it.wanted = append(it.wanted, r)
				it.out = append(it.out, nil)
			}
			it.out[len(it.out)-1] = append(it.out[len(it.out)-1], i)
		}
	}
	for _, it := range p.items {
		if p.reduces && it.source >= 0 {
			return &QueryError{fmt.Errorf("%s both copies and reduces: routings of such are not synthesised", c.Name)}
		}
	}
	slices.SortStableFunc(p.items, func(a, b item) int {
		if a.source != b.source {
			return a.source - b.source
		}
		return a.index - b.index
	})
	return nil
}

// classify groups interchangeable items into classes. Items of a source are adjacent.
func (p *problem) classify() {
	number := map[string]int{}
	last := 0
	for i := range p.items {
		it := &p.items[i]
		if i > 0 && it.source == p.items[i-1].source && slices.Equal(it.wanted, p.items[i-1].wanted) {
			p.classes[last] = append(p.classes[last], i)
			continue
		}
		k := fmt.Sprint(it.source, it.wanted)
		at, ok := number[k]
		if !ok {
			at = len(p.classes)
			number[k] = at
			p.classes = append(p.classes, nil)
		}
		p.classes[at] = append(p.classes[at], i)
		last = at
	}
}

// outputPlace returns the index in a rank's output where an item is wanted, or -1.
func (it *item) outputPlace(rank int) int {
	if i, ok := slices.BinarySearch(it.wanted, rank); ok {
		return it.out[i][0]
	}
	return -1
}

// destinations lists the ranks that want the item and do not start with it.
func (it *item) destinations() []int {
	var ranks []int
	for _, r := range it.wanted {
		if r != it.source {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// reversedProblem returns the problem of copying chunks on the reversed network from the
// ranks that want their sums to all ranks.
func (p *problem) reversedProblem() *problem {
	dual := *p
	dual.reduces = false
	dual.net = p.net.reversed()
	dual.items = make([]item, len(p.items))
	for i, it := range p.items {
		dual.items[i] = item{source: it.wanted[0], index: it.index, wanted: lists.UpTo(p.net.ranks)}
	}
	dual.classes, dual.automorphismCache = nil, nil
	dual.classify()
	return &dual
}

// names lists the items as Replay wants them.
func (p *problem) names() []Item {
	return lists.Map(p.items, func(it item) Item { return Item{it.source, it.index} })
}

// name returns the query's name for dumps.
func (p *problem) name() string {
	return fmt.Sprintf("%s on %s: %d chunks, %d steps, %d rounds", p.Collective.Name, p.Topology.Name, p.Collective.Chunks, p.Steps, p.Rounds)
}

// perChunk returns the number of chunks, as the literature counts them, for each of the
// collective's.
func (p *problem) perChunk() int {
	if p.Collective.Name == "alltoall" {
		return p.net.ranks
	}
	return 1
}

// sumsEverywhere reports whether sums are wanted in more than one place.
func (p *problem) sumsEverywhere() bool {
	for _, it := range p.items {
		if len(it.wanted) > 1 {
			return p.reduces
		}
	}
	return false
}
