package rings

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/topologies"
)

// Options says which rings to find.
type Options struct {
	Count int // of rings, up to 64; 0 means 1
	// SolverWork limits the work of all solver queries together; 0 means that only
	// their time limit applies. Most systems need no solver.
	SolverWork time.Duration
	// NoSolver returns a *TimeoutError instead of asking solvers.
	NoSolver bool
}

// Answer is a set of ring orders of all ranks: rank Orders[k][i] sends to
// Orders[k][i+1], and the last to the first.
type Answer struct {
	Orders  [][]int
	By      string  // z3, pb; or "complete graph", "identity order", "zigzag order", "counting", "packing", "exchange" where no solver was needed
	Seconds float64 // wall-clock time
}

// NoRingError means that the topology has no such rings.
type NoRingError struct {
	Topology string
	Count    int    // of rings asked for
	Why      string // the reason, naming GPUs and links
	By       string // the solver that proved it; empty if Why is the proof
}

// Error names the topology, the number of rings and the reason.
func (e *NoRingError) Error() string {
	what := "no ring"
	if e.Count > 1 {
		what = fmt.Sprintf("no %d rings", e.Count)
	}
	return fmt.Sprintf("topology %s: %s: %s", e.Topology, what, e.Why)
}

// TimeoutError means that a limit was met before rings were found or refuted.
type TimeoutError struct {
	Topology string
	Count    int    // of rings asked for
	Detail   string // the limit
}

// Error names the topology, the number of rings and the limit.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("topology %s: %d ring orders not settled: %s", e.Topology, e.Count, e.Detail)
}

// maxRings limits the rings that can be asked for.
const maxRings = 64

// maxRanks limits the GPUs of a node, because memory grows with their square.
const maxRanks = 1 << 12

// Find finds o.Count Hamiltonian rings over existing links that share no link; a link
// that stands for several physical ones can be in as many rings. Of all such sets it
// returns one with the greatest Width; one ring on a single node of up to 16 ranks
// is the lexicographically first of these. On several nodes a ring passes through one
// node after another, in the same order through each.
//
// Nodes of up to 16 ranks are almost always settled by counting and packing. On larger
// ones with many links, rings are found by exchange. Solvers, which may be nil if
// o.NoSolver, are the last resort. The answer is the same on every machine, as long as
// solvers meet no limit but that on work.
//
// The error is a *NoRingError if there are no such rings, a *TimeoutError if a
// limit was met, a *SolverError, ctx's, or about the options.
func Find(ctx context.Context, s *solver.Pool, t *topologies.Topology, o Options) (Answer, error) {
	start := time.Now()
	if o.Count == 0 {
		o.Count = 1
	}
	if o.Count < 0 || o.Count > maxRings {
		return Answer{}, fmt.Errorf("%d rings: want 1 to %d", o.Count, maxRings)
	}
	if orders := identityOfLarge(t, o.Count); orders != nil {
		a := Answer{Orders: orders, By: "identity order", Seconds: time.Since(start).Seconds()}
		return a, Check(t, orders)
	}
	if n := len(t.NodeRanks(0)); n > maxRanks {
		return Answer{}, &TimeoutError{t.Name, o.Count, fmt.Sprintf("a node has %d GPUs: want at most %d", n, maxRanks)}
	} else if o.NoSolver && t.Nodes > 1 && n > maxPackedRanks {
		return Answer{}, &TimeoutError{t.Name, o.Count, fmt.Sprintf("no solver was asked, and nodes have %d GPUs", n)}
	}
	p, err := newRingProblem(ctx, t, o.Count)
	if err != nil {
		return Answer{}, err
	}
	p.noSolver = o.NoSolver
	if o.SolverWork > 0 {
		p.workLeft = &o.SolverWork
	}
	orders, by, err := p.solve(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{By: by}
	for _, order := range orders {
		a.Orders = append(a.Orders, p.unroll(order))
	}
	if err := Check(t, a.Orders); err != nil {
		return Answer{}, fmt.Errorf("ring orders found by %s are wrong: %w", by, err)
	}
	a.Seconds = time.Since(start).Seconds()
	return a, nil
}
