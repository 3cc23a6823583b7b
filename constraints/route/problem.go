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
	Collective collective.Collective // its Chunks are chunksOf(Chunks), see Chunks
	Steps      int
	Rounds     int             // of all steps together, each of which has at least one
	Unit       units.Bandwidth // of one chunk a round; 0: that of the slowest link any lane uses
}

// ChunksOf turns the C that the literature counts in into the collective's own
// chunks: of an alltoall it counts a rank's whole input.
func ChunksOf(name string, ranks, chunks int) (int, error) {
	if name != "alltoall" {
		return chunks, nil
	}
	if chunks%ranks != 0 {
		return 0, fmt.Errorf("%d chunks of an alltoall over %d ranks: want a multiple of %d", chunks, ranks, ranks)
	}
	return chunks / ranks, nil
}

// item is a chunk that starts at a source and is wanted elsewhere. Of a
// reduction it is one place of the data: every rank has its own to begin with,
// and what is wanted is the sum.
type item struct {
	source int     // whose input; of a reduction -1
	index  int     // which chunk of the input
	wanted []int   // ranks that want it, rising; the source too where it does
	out    [][]int // for each of them, at which places of its output
}

// problem is a query with its items and its network.
type problem struct {
	Query
	net     *network
	forward *network // net, but for what is spread backwards: see dual
	items   []item
	reduces bool
	// classes are items with one source and one set of wants, by first item.
	classes [][]int
	alike   *[]renaming     // once renamings have been looked for
	until   context.Context // for stating formulas; nil: no end
}

// formula is an empty one, for the problem to be stated in.
func (p *problem) formula(name string) *constraints.Formula {
	return constraints.NewFormula(name).Until(p.until)
}

// What a query may come to before it is stated to a solver.
const (
	maxItems = 1 << 14
	maxSteps = 1 << 10
	maxRound = 1 << 12
)

// QueryError is a query that makes no sense: it is the asker's mistake.
type QueryError struct{ error }

func (e *QueryError) Unwrap() error { return e.error }

// newProblem is a query with its items and its network, however long that takes.
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

// on is the problem of a query, still without its items, on its topology's network;
// nil where that is to be read off first.
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

// like is the problem of another collective on the same network, for as long as there
// is time for this one.
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

// look leaves everything at once where there is no more time: see constraints.Overdue.
func (p *problem) look() { look(p.until) }

// look is a problem's; nil has no end.
func look(until context.Context) {
	if until != nil {
		constraints.Look(until)
	}
}

func (q Query) sensible() error {
	c := q.Collective
	switch {
	case q.Topology == nil || c.Ranks != len(q.Topology.Ranks):
		return fmt.Errorf("%s over %d ranks: want as many as the topology has", c.Name, c.Ranks)
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

// mostChunks is how many chunks, as the literature counts them, a query may have:
// each of the collective's own has as many items.
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

// list reads the items off the collective's postcondition.
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

// classify groups items that may change places. Those of a source are neighbours, and
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

// place is where in a rank's output an item is wanted, -1 where it is not.
func (it *item) place(rank int) int {
	if i, ok := slices.BinarySearch(it.wanted, rank); ok {
		return it.out[i][0]
	}
	return -1
}

// elsewhere are the ranks that want the item and do not have it to begin with.
func (it *item) elsewhere() []int {
	var ranks []int
	for _, r := range it.wanted {
		if r != it.source {
			ranks = append(ranks, r)
		}
	}
	return ranks
}
