package route

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/units"
)

// Answer is the outcome of a query.
type Answer struct {
	Status constraints.Status
	// By says what settled it: "bound", "mixing", or the solver that found the
	// routing or proved that there is none.
	By       string
	Detail   string   // Unsat by a bound: the argument; Timeout: which limit was met
	Schedule Schedule // Sat: confirmed by Replay
	Items    []Item   // what the schedule's sends refer to
	Unit     units.Bandwidth
	Seconds  float64
	claimed  bool // Unsat in a kept formula, which is not a proof
}

// Values of Answer.By for an argument without a solver, and for a routing that is
// a mix of single chunks' courses.
const (
	Bound  = "bound"
	Mixing = "mixing"
)

// Find answers a query. A routing is returned only after replaying it on the
// topology. An answer that there is none comes from a bound or a solver. The error
// says that the query makes no sense, or that all solvers failed.
func Find(ctx context.Context, s *constraints.Solvers, q Query) (Answer, error) {
	return find(s, q, asker{ctx: ctx})
}

func find(s *constraints.Solvers, q Query, ask asker) (Answer, error) {
	start := time.Now()
	ask = ask.query(s)
	limit := ask.left()
	until, cancel := ask.bounding()
	defer cancel()
	p, a, err := q.findUntil(s, ask, until)
	if ask.late(err) {
		by := Bound
		if errors.Is(err, constraints.ErrDeadline) { // the time ran out while stating a solver's formula
			by = s.Solvers()[0]
		}
		a, err = Answer{Status: constraints.Timeout, By: by, Detail: fmt.Sprintf("no answer within %v", limit.Round(time.Millisecond))}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	if a.Unit = q.Unit; p != nil { // nil if not even the network could be built in time
		a.Unit, a.Items = p.net.unit, p.names()
	}
	if a.Status == constraints.Sat {
		if err := Replay(q, a.Unit, a.Items, a.Schedule); err != nil {
			return Answer{}, fmt.Errorf("routing by %s: %w", a.By, err)
		}
	}
	a.Seconds = time.Since(start).Seconds()
	return a, nil
}

// findUntil is find including the construction of the network and the items, which
// can run out of time as well. It returns the problem as far as it was built.
func (q Query) findUntil(s *constraints.Solvers, ask asker, until context.Context) (p *problem, a Answer, err error) {
	defer constraints.RecoverDeadline(&err)
	if p, err = q.on(ask.net, until); err == nil {
		err = p.fill()
	}
	if err == nil {
		a, err = p.find(s, ask)
	}
	return p, a, err
}

func (p *problem) find(s *constraints.Solvers, ask asker) (Answer, error) {
	if !ask.atLeast {
		if r := p.tooFast(); r != nil {
			return Answer{Status: constraints.Unsat, By: Bound, Detail: r.Reason}, nil
		}
	}
	if p.reduces {
		return p.collect(s, ask)
	}
	return p.spread(s, ask)
}

// spread answers a query whose chunks are copied.
func (p *problem) spread(s *constraints.Solvers, ask asker) (Answer, error) {
	ctx, cancel := ask.bounding()
	defer cancel()
	if b := ask.branches.of(p.Collective.Name, p.Steps); b != nil && b.speaksOf(p) {
		p.alike = b.one.alike // renamings are the same for one chunk as for many
	}
	open, refuted, err := p.bound(ctx)
	if err != nil {
		return Answer{}, err
	}
	if refuted != nil {
		return Answer{Status: constraints.Unsat, By: Bound, Detail: refuted.Reason}, nil
	}
	if sched, ok := p.byFlow(open); ok {
		return Answer{Status: constraints.Sat, By: Bound, Schedule: sched}, nil
	}
	return p.solveBranched(s, ask, open)
}

// byFlow answers, without a solver, a query in which all chunks have the same
// source or the same destination: the flow found by the bound then is a routing.
func (p *problem) byFlow(open [][]int) (Schedule, bool) {
	if len(open) == 0 || !p.counts() {
		return nil, false
	}
	source, dest := -1, -1 // -2: several
	waiting := map[[2]int][]int{}
	d := demand{from: make([]int64, p.net.ranks), into: make([]int64, p.net.ranks)}
	for x := range p.items {
		it := &p.items[x]
		for _, r := range it.elsewhere() {
			if source = only(source, it.source); dest == -2 {
				dest = -2
			} else {
				dest = only(dest, r)
			}
			waiting[[2]int{it.source, r}] = append(waiting[[2]int{it.source, r}], x)
			d.from[it.source]++
			d.into[r]++
			d.need++
		}
	}
	if source == -2 && dest == -2 {
		return nil, false
	}
	u := p.net.unroll(p.Steps)
	u.split(open[0])
	if !u.met(&d) {
		return nil, false
	}
	s := make(Schedule, p.Steps)
	for t, n := range open[0] {
		s[t].Rounds = n
	}
	ok := u.paths(func(from, to int, hops []hop) {
		k := [2]int{from, to}
		x := waiting[k][0]
		waiting[k] = waiting[k][1:]
		for _, h := range hops {
			l := p.net.lanes[h.lane]
			s[h.step].Sends = append(s[h.step].Sends, Send{Item: x, From: int(l.from), To: int(l.to)})
		}
	})
	return p.prune(s), ok
}

// only tracks whether all values seen are equal: -1 before the first value, -2
// after different ones.
func only(was, now int) int {
	if was == -1 || was == now {
		return now
	}
	return -2
}

// collect answers a query whose chunks are combined in one place, by spreading
// them from there with time and links reversed.
func (p *problem) collect(s *constraints.Solvers, ask asker) (Answer, error) {
	for _, it := range p.items {
		if len(it.wanted) > 1 {
			return p.everywhere(s, ask)
		}
	}
	a, err := p.dual().spread(s, ask)
	a.Schedule = a.Schedule.reversed()
	return a, err
}

// dual is the problem of spreading, on the reversed network, what is to be
// combined from where it is wanted.
func (p *problem) dual() *problem {
	dual := *p
	dual.reduces = false
	dual.net = p.net.reversed()
	dual.items = make([]item, len(p.items))
	for i, it := range p.items {
		dual.items[i] = item{source: it.wanted[0], index: it.index, wanted: rising(p.net.ranks)}
	}
	dual.classes, dual.alike = nil, nil
	dual.classify()
	return &dual
}

// name is what dumps call the query.
func (p *problem) name() string {
	return fmt.Sprintf("%s on %s: %d chunks, %d steps, %d rounds", p.Collective.Name, p.Topology.Name, p.Collective.Chunks, p.Steps, p.Rounds)
}

func rising(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
