package synth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
)

// Answer is the outcome of a query.
type Answer struct {
	Status solver.Status
	// By is the method that settled it: Bound, Mixing, or the name of the solver.
	By       string
	Detail   string   // Unsat by a bound: the argument; Known: the file; Timeout: which limit was met
	Schedule Schedule // Sat: confirmed by Replay
	Items    []Item   // by Send.Item
	Unit     units.Bandwidth
	Seconds  float64 // wall-clock time
}

// Values of Answer.By for bounds, for known routings, and for routings found by column
// packing.
const (
	Bound  = "bound"
	Known  = "known"
	Mixing = "mixing"
)

// Find answers a query. A routing is returned only after Replay has confirmed it; Unsat is
// the result of a bound or a solver. The error is a *QueryError, ctx's, or the solvers'
// faults if all of them failed.
func Find(ctx context.Context, s *solver.Pool, q Query) (Answer, error) {
	return find(s, q, solveBudget{ctx: ctx})
}

func find(s *solver.Pool, q Query, ask solveBudget) (Answer, error) {
	start := time.Now()
	ask = ask.query(s)
	limit := ask.left()
	until, cancel := ask.boundContext()
	defer cancel()
	p, a, err := q.findUntil(s, ask, until)
	if ask.onlyLate(err) {
		by := Bound
		if errors.Is(err, constraints.ErrDeadline) { // the time ran out while stating a solver's formula
			by = s.Solvers()[0]
		}
		a, err = Answer{Status: solver.Timeout, By: by, Detail: fmt.Sprintf("no answer within %v", limit.Round(time.Millisecond))}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	if a.Unit = q.Unit; p != nil { // nil if not even the network could be built in time
		a.Unit, a.Items = p.net.unit, p.names()
	}
	if a.Status == solver.Sat {
		if err := Replay(q, a.Unit, a.Items, a.Schedule); err != nil {
			return Answer{}, fmt.Errorf("routing by %s: %w", a.By, err)
		}
	}
	a.Seconds = time.Since(start).Seconds()
	return a, nil
}

// findUntil builds the problem and answers it, within a deadline. It returns the problem as
// far as it was built.
func (q Query) findUntil(s *solver.Pool, ask solveBudget, until context.Context) (p *problem, a Answer, err error) {
	defer constraints.RecoverDeadline(&err)
	if p, err = q.problemOn(ask.net, until); err == nil {
		err = p.addItems()
	}
	if err == nil {
		a, err = p.find(s, ask)
	}
	return p, a, err
}

func (p *problem) find(s *solver.Pool, ask solveBudget) (Answer, error) {
	if a, found, err := p.findKnown(); found || err != nil {
		return a, err
	}
	if !ask.atLeast {
		if r := p.belowRateBound(); r != nil {
			return Answer{Status: solver.Unsat, By: Bound, Detail: r.Reason}, nil
		}
	}
	if p.reduces {
		return p.findReduce(s, ask)
	}
	return p.findCopy(s, ask)
}

// findCopy answers a query whose chunks are copied.
func (p *problem) findCopy(s *solver.Pool, ask solveBudget) (Answer, error) {
	ctx, cancel := ask.boundContext()
	defer cancel()
	if b := ask.branches.of(p.Collective.Name, p.Steps); b != nil && b.speaksOf(p) {
		p.automorphismCache = b.one.automorphismCache // they do not depend on the number of chunks
	}
	open, refuted, err := p.bound(ctx)
	if err != nil {
		return Answer{}, err
	}
	if refuted != nil {
		return Answer{Status: solver.Unsat, By: Bound, Detail: refuted.Reason}, nil
	}
	if sched, ok := p.flowRouting(open); ok {
		return Answer{Status: solver.Sat, By: Bound, Schedule: sched}, nil
	}
	return p.solveBranched(s, ask, open)
}

// flowRouting answers, without a solver, a query in which all chunks have the same source or
// the same destination: then the flow is a routing.
func (p *problem) flowRouting(open [][]int) (Schedule, bool) {
	if len(open) == 0 || !p.singleDestination() {
		return nil, false
	}
	source, dest := -1, -1 // -2: several
	waiting := map[[2]int][]int{}
	d := demand{from: make([]int64, p.net.ranks), into: make([]int64, p.net.ranks)}
	for x := range p.items {
		it := &p.items[x]
		for _, r := range it.destinations() {
			if source = commonValue(source, it.source); dest == -2 {
				dest = -2
			} else {
				dest = commonValue(dest, r)
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
	u.setRounds(open[0])
	if !u.feasible(&d) {
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

// commonValue returns the common value of all seen so far: was is -1 before the first
// value, and -2 after different ones.
func commonValue(was, now int) int {
	if was == -1 || was == now {
		return now
	}
	return -2
}

// findReduce answers a query whose chunks are combined at one rank each: it copies them from
// there on the reversed network, and reverses the schedule.
func (p *problem) findReduce(s *solver.Pool, ask solveBudget) (Answer, error) {
	for _, it := range p.items {
		if len(it.wanted) > 1 {
			return p.findAllReduce(s, ask)
		}
	}
	a, err := p.reversedProblem().findCopy(s, ask)
	a.Schedule = a.Schedule.reversed()
	return a, err
}

// reversedProblem returns the problem of copying chunks on the reversed network from the
// ranks that want their sums to all ranks.
func (p *problem) reversedProblem() *problem {
	dual := *p
	dual.reduces = false
	dual.net = p.net.reversed()
	dual.items = make([]item, len(p.items))
	for i, it := range p.items {
		dual.items[i] = item{source: it.wanted[0], index: it.index, wanted: upTo(p.net.ranks)}
	}
	dual.classes, dual.automorphismCache = nil, nil
	dual.classify()
	return &dual
}

// name returns the query's name for dumps.
func (p *problem) name() string {
	return fmt.Sprintf("%s on %s: %d chunks, %d steps, %d rounds", p.Collective.Name, p.Topology.Name, p.Collective.Chunks, p.Steps, p.Rounds)
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
