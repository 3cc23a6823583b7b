package route

import (
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Query is one question: can the collective be done with so many chunks in so
// many steps and rounds?
type Query struct {
	Topology   *topologies.Topology
	Collective collective.Collective // its Chunks are the collective's own: see ChunksOf
	Steps      int
	Rounds     int             // of all steps together; each step has at least one
	Unit       units.Bandwidth // bandwidth of one chunk a round; 0 means that of the slowest link any lane uses
}

// ChunksOf converts the number of chunks as the literature counts them, which for
// an alltoall divides a rank's whole input, into the collective's own.
func ChunksOf(name string, ranks, chunks int) (int, error) {
	if name != "alltoall" {
		return chunks, nil
	}
	if chunks%ranks != 0 {
		return 0, fmt.Errorf("%d chunks of an alltoall over %d ranks: want a multiple of %d", chunks, ranks, ranks)
	}
	return chunks / ranks, nil
}

// item is a chunk that begins at a source and is wanted elsewhere. In a reduction
// it is a place of the data: every rank begins with a contribution, and the sum is
// wanted.
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
	forward *network // the network before reversal: see dual
	items   []item
	reduces bool
	// classes groups interchangeable items: those with the same source that are
	// wanted by the same ranks.
	classes [][]int
	alike   *[]renaming     // the renamings, once looked for
	until   context.Context // limit for stating formulas; nil means none
}

// formula returns an empty formula for the problem.
func (p *problem) formula(name string) *constraints.Formula {
	return constraints.NewFormula(name).Until(p.until)
}

// Limits of a query that is stated to a solver.
const (
	maxItems = 1 << 14
	maxSteps = 1 << 10
	maxRound = 1 << 12
)

// QueryError is a query that makes no sense, which is the caller's mistake.
type QueryError struct{ error }

func (e *QueryError) Unwrap() error { return e.error }

// NoneError is that a walk has no points, and why: no routing has so few steps.
type NoneError struct{ error }

func (e *NoneError) Unwrap() error { return e.error }

// newProblem builds a query's network and items without a time limit.
func newProblem(q Query) (*problem, error) {
	p, err := q.on(nil, nil)
	if err == nil {
		err = p.fill()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// on is the problem of a query on its topology's network, which is built if net is
// nil. It has no items yet.
func (q Query) on(net *network, until context.Context) (*problem, error) {
	if err := q.sensible(); err != nil {
		return nil, &QueryError{err}
	}
	if net == nil {
		var err error
		if net, err = newNetwork(q.Topology, q.Unit, until); err != nil {
			return nil, &QueryError{err}
		}
	}
	return &problem{Query: q, net: net, forward: net, until: until}, nil
}

// like is the problem of another collective on the same network, under the same
// time limit.
func (p *problem) like(c collective.Collective, steps, rounds int) (*problem, error) {
	o, err := Query{Topology: p.Topology, Collective: c, Steps: steps, Rounds: rounds, Unit: p.net.unit}.on(p.forward, p.until)
	if err == nil {
		err = o.fill()
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// look aborts by a panic if time is up: see constraints.Overdue.
func (p *problem) look() { look(p.until) }

// look aborts if until, unless it is nil, is over.
func look(until context.Context) {
	if until != nil {
		constraints.CheckDeadline(until)
	}
}

func (q Query) sensible() error {
	c := q.Collective
	switch {
	case q.Topology == nil || c.Ranks != len(q.Topology.Ranks):
		return fmt.Errorf("%s over %s: want as many as the topology has", c.Name, many(c.Ranks, "rank"))
	case c.Ranks < 2:
		return fmt.Errorf("%s over %s moves nothing: want 2 ranks or more", c.Name, many(c.Ranks, "rank"))
	case q.Steps < 1 || q.Steps > maxSteps:
		return fmt.Errorf("%d steps: want 1 to %d", q.Steps, maxSteps)
	case q.Rounds < q.Steps || q.Rounds > maxRound:
		return fmt.Errorf("rounds R=%d for steps S=%d: want at least one a step, and at most %d", q.Rounds, q.Steps, maxRound)
	}
	return nil
}

// fill lists the problem's items.
func (p *problem) fill() error {
	if err := p.list(); err != nil {
		return &QueryError{err}
	}
	p.classify()
	return nil
}

// mostChunks is the largest number of chunks of a query, as the literature counts
// them. One of the collective's own chunks stands for that many items.
func (p *problem) mostChunks() int {
	return maxItems * p.Collective.Chunks / len(p.items) * p.perChunk()
}

// tooMany says how many chunks there may be.
func (p *problem) tooMany() error {
	c := p.Collective
	if c.Chunks > 1 {
		if one, err := p.oneChunk(1); err == nil {
			return &QueryError{fmt.Errorf("%d chunks: want at most %d of %s over %d ranks", c.Chunks*p.perChunk(), one.mostChunks(), c.Name, c.Ranks)}
		}
	}
	return &QueryError{fmt.Errorf("%s over %d ranks has more than %d chunks: want fewer ranks", c.Name, c.Ranks, maxItems)}
}

// list derives the items from the collective's postcondition.
func (p *problem) list() error {
	c := p.Collective
	type key struct{ source, index int }
	number := map[key]int{}
	for r := range c.Ranks {
		p.look()
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
				return fmt.Errorf("%s sums some ranks' chunks only: routings of such are not synthesised", c.Name)
			}
			at, ok := number[k]
			if !ok {
				if at = len(p.items); at == maxItems {
					return p.tooMany()
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
			return fmt.Errorf("%s both copies and reduces: routings of such are not synthesised", c.Name)
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

// classify groups interchangeable items. Items of a source are adjacent, and
// mostly alike.
func (p *problem) classify() {
	number := map[string]int{}
	last := 0
	for i := range p.items {
		it := &p.items[i]
		if i > 0 && it.source == p.items[i-1].source && slices.Equal(it.wanted, p.items[i-1].wanted) {
			p.classes[last] = append(p.classes[last], i)
			continue
		}
		p.look()
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

// place is the place in a rank's output where an item is wanted, or -1.
func (it *item) place(rank int) int {
	if i, ok := slices.BinarySearch(it.wanted, rank); ok {
		return it.out[i][0]
	}
	return -1
}

// elsewhere lists the ranks that want the item and do not begin with it.
func (it *item) elsewhere() []int {
	var ranks []int
	for _, r := range it.wanted {
		if r != it.source {
			ranks = append(ranks, r)
		}
	}
	return ranks
}
