package constraints

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/topologies"
)

// RingOptions says what kind of rings are wanted.
type RingOptions struct {
	Count int // 0 means 1
	// SolverWork limits the work of all solver queries together, where nothing
	// else settles the question; 0 means that only their time limit applies.
	SolverWork time.Duration
	// NoSolver leaves open what only a solver could settle.
	NoSolver bool
}

// RingAnswer is a set of ring orders: Orders[k][i] sends to Orders[k][i+1], and
// the last to the first.
type RingAnswer struct {
	Orders  [][]int
	By      string  // z3, pb; or "complete graph", "identity order", "zigzag order", "counting", "packing", "exchange" where no solver was needed
	Seconds float64 // time taken
}

// NoRingError says that the topology has no such rings, and why.
type NoRingError struct {
	Topology string
	Count    int
	Why      string
	By       string // the solver that proved it; empty if Why is the proof
}

func (e *NoRingError) Error() string {
	what := "no ring"
	if e.Count > 1 {
		what = fmt.Sprintf("no %d rings", e.Count)
	}
	return fmt.Sprintf("topology %s: %s: %s", e.Topology, what, e.Why)
}

// RingTimeoutError says that the question stays open because the solvers met a
// limit.
type RingTimeoutError struct {
	Topology string
	Count    int
	Detail   string
}

func (e *RingTimeoutError) Error() string {
	return fmt.Sprintf("topology %s: %d ring orders not settled: %s", e.Topology, e.Count, e.Detail)
}

// maxRings limits how many rings can be asked for.
const maxRings = 64

// mostRingRanks limits the GPUs of a node, since a value is kept for every pair of
// them.
const mostRingRanks = 1 << 12

// Rings finds as many Hamiltonian rings over existing links as asked for. The
// rings share no link, where a link that stands for several physical ones can be
// in as many rings. Among all such sets it finds one whose narrowest step is
// widest; one ring on a single node of up to 16 ranks is the lexicographically
// first of these. On several nodes a ring passes through one node after another,
// through each in the same order. Nodes of up to 16 ranks are almost always
// settled by counting and packing; on larger ones with plenty of links, rings are
// found by exchange. The answer does not depend on the speed of the machine, as
// long as solvers meet no limit but that on work.
//
// The error is a *NoRingError if there are no such rings, a *RingTimeoutError if
// solvers met a limit, or a solver's fault.
func Rings(ctx context.Context, s *Solvers, t *topologies.Topology, o RingOptions) (RingAnswer, error) {
	start := time.Now()
	if o.Count == 0 {
		o.Count = 1
	}
	if o.Count < 0 || o.Count > maxRings {
		return RingAnswer{}, fmt.Errorf("%d rings: want 1 to %d", o.Count, maxRings)
	}
	if orders := identityOfMany(t, o.Count); orders != nil {
		a := RingAnswer{Orders: orders, By: "identity order", Seconds: time.Since(start).Seconds()}
		return a, CheckRings(t, orders)
	}
	if n := len(t.NodeRanks(0)); n > mostRingRanks {
		return RingAnswer{}, &RingTimeoutError{t.Name, o.Count, fmt.Sprintf("a node has %d GPUs: want at most %d", n, mostRingRanks)}
	} else if o.NoSolver && t.Nodes > 1 && n > packedRanks {
		return RingAnswer{}, &RingTimeoutError{t.Name, o.Count, fmt.Sprintf("no solver was asked, and nodes have %d GPUs", n)}
	}
	p, err := newRingProblem(ctx, t, o.Count)
	if err != nil {
		return RingAnswer{}, err
	}
	p.noSolver = o.NoSolver
	if o.SolverWork > 0 {
		p.workLeft = &o.SolverWork
	}
	orders, by, err := p.solve(ctx, s)
	if err != nil {
		return RingAnswer{}, err
	}
	a := RingAnswer{By: by}
	for _, order := range orders {
		a.Orders = append(a.Orders, p.unroll(order))
	}
	if err := CheckRings(t, a.Orders); err != nil {
		return RingAnswer{}, fmt.Errorf("ring orders found by %s are wrong: %w", by, err)
	}
	a.Seconds = time.Since(start).Seconds()
	return a, nil
}
