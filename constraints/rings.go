package constraints

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// RingOptions is how many rings are wanted.
type RingOptions struct {
	Count int // 0 is 1
	// SolverWork is how much solvers may work, all queries together, where nothing else
	// settles it; 0 is no limit but their own of time.
	SolverWork time.Duration
	// NoSolver leaves unsettled what only a solver could tell.
	NoSolver bool
}

// RingAnswer is ring orders: Orders[k][i] sends to Orders[k][i+1], the last to
// the first.
type RingAnswer struct {
	Orders  [][]int
	By      string  // z3, pb; or "complete graph", "identity order", "zigzag order", "counting", "packing", "exchange" where no solver was needed
	Seconds float64 // how long it took
}

// NoRingError says that the topology has no such rings, in its own terms.
type NoRingError struct {
	Topology string
	Count    int
	Why      string
	By       string // the solver that proved it; empty where Why is the proof
}

func (e *NoRingError) Error() string {
	what := "no ring"
	if e.Count > 1 {
		what = fmt.Sprintf("no %d rings", e.Count)
	}
	return fmt.Sprintf("topology %s: %s: %s", e.Topology, what, e.Why)
}

// RingTimeoutError says that nobody knows: the solvers met a limit.
type RingTimeoutError struct {
	Topology string
	Count    int
	Detail   string
}

func (e *RingTimeoutError) Error() string {
	return fmt.Sprintf("topology %s: %d ring orders not settled: %s", e.Topology, e.Count, e.Detail)
}

// mostRingRanks limits the GPUs of a node: a step from each to each is a number to keep.
const mostRingRanks = 1 << 12

// Rings finds Hamiltonian rings over links that exist, as many as asked for,
// which share no link: one that stands for several physical links can be in as
// many rings. Of all such sets it takes one whose narrowest step is widest; one ring
// on one node of up to 16 ranks is the first such in lexicographic order. On several
// nodes a ring passes through them in sequence, in each in the same order. Nodes of up
// to 16 ranks are settled by counting and packing, but for a few, and on larger ones
// rings are found by exchange where links are plenty. The answer is one however fast
// the machine is, as long as solvers meet no limit but that of work.
//
// The error is a *NoRingError where there are none, a *RingTimeoutError where
// the solvers met a limit, or a solver's fault.
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
	p, err := newRingProblem(t, o.Count)
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

const (
	maxRings = 64
	// many is the ranks of a node from which every pair of them is not looked at
	// where the ranks in sequence can be seen to be best.
	many = 256
	// settled is the size, ranks of a node times rings, up to which solvers are asked
	// for the first ring set in lexicographic order, on nodes of up to packedRanks.
	settled = 56
)

// identityOfMany is the ranks in sequence, for each ring, on one node of many
// ranks; nil where this is not seen at once to be the widest there is. It is
// where some rank's links have no room for all rings at more than that width.
func identityOfMany(t *topologies.Topology, count int) [][]int {
	n := len(t.Ranks)
	if n <= many || t.Nodes != 1 {
		return nil
	}
	p := &ringProblem{t: t, n: n, count: count}
	width := units.Bandwidth(1<<63 - 1)
	for r := range n {
		path, ok := t.Path(r, (r+1)%n)
		if !ok {
			return nil
		}
		for _, e := range path.Edges {
			if p.shares(e) < count {
				return nil
			}
			width = min(width, t.Edges[e].Bandwidth/units.Bandwidth(count))
		}
	}
	for r := range n {
		room := 0
		for _, e := range t.Out(r) {
			room += p.capacity(int(e), width+1)
		}
		if room < count {
			orders := make([][]int, count)
			for k := range orders {
				orders[k] = upTo(n)
			}
			return orders
		}
	}
	return nil
}

// ringProblem is what a node asks for: an order of its ranks in which each step
// is a hop that exists, and the step from the last to the first is the one that
// closes the ring or, on several nodes, leads into the next.
type ringProblem struct {
	t     *topologies.Topology
	nodes [][]int // ranks of each node, by local position
	n     int     // ranks of a node
	count int     // rings
	in    [][]*hop
	close [][]*hop
	near  [][]int // by rank: its neighbours, once they were asked for
	// bothWays: every ring takes its steps' links the other way as well
	bothWays bool
	workLeft *time.Duration // of solvers; nil is no limit
	noSolver bool
	why      string // that there are no rings of the width last asked for
}

// hop is a step that exists, and the edges it takes (in the first node, or from
// the first node to the second).
type hop struct{ edges []int }

func newRingProblem(t *topologies.Topology, count int) (*ringProblem, error) {
	p := &ringProblem{t: t, count: count}
	for node := range t.Nodes {
		p.nodes = append(p.nodes, t.NodeRanks(node))
	}
	if len(p.nodes) == 0 {
		return nil, fmt.Errorf("topology %s: no nodes", t.Name)
	}
	p.n = len(p.nodes[0])
	for node, ranks := range p.nodes {
		if len(ranks) != p.n {
			return nil, &NoRingError{t.Name, count, fmt.Sprintf("node %d has %d GPUs, node 0 has %d: rings need nodes alike", node, len(ranks), p.n), ""}
		}
	}
	p.in = p.hops(0, len(p.nodes))
	p.close = p.in
	if len(p.nodes) > 1 {
		p.close = p.hops(1, len(p.nodes))
	}
	return p, nil
}

// hops is what steps exist in every node (ahead 0) or from every node to the
// next (ahead 1), by local positions.
func (p *ringProblem) hops(ahead, nodes int) [][]*hop {
	hops := make([][]*hop, p.n)
	for i := range hops {
		hops[i] = make([]*hop, p.n)
		for j := range hops[i] {
			if ahead == 0 && i == j {
				continue
			}
			linked := true
			for node := 0; node < nodes && linked; node++ {
				linked = p.t.Linked(p.nodes[node][i], p.nodes[(node+ahead)%nodes][j])
			}
			if linked {
				path, _ := p.t.Path(p.nodes[0][i], p.nodes[ahead%nodes][j])
				hops[i][j] = &hop{path.Edges}
			}
		}
	}
	return hops
}

// unroll makes a node's order the whole system's.
func (p *ringProblem) unroll(order []int) []int {
	var all []int
	for _, ranks := range p.nodes {
		for _, i := range order {
			all = append(all, ranks[i])
		}
	}
	return all
}

// solve finds orders of a node.
func (p *ringProblem) solve(ctx context.Context, s *Solvers) (orders [][]int, by string, err error) {
	if why := p.refute(); why != "" {
		return nil, "", &NoRingError{p.t.Name, p.count, why, ""}
	}
	widths := p.widths()
	widest := units.Bandwidth(1)
	if len(widths) > 0 {
		widest = widths[0]
	}
	if orders, by := p.obvious(widest); orders != nil {
		return orders, by, nil
	}
	// What holds for a width holds for all narrower ones: halve the list to
	// find the first that has rings.
	for lo, hi := 0, len(widths); lo < hi; {
		mid := (lo + hi) / 2
		found, who, err := p.ask(ctx, s, widths[mid])
		if err != nil {
			return nil, "", err
		}
		by = who
		if found != nil {
			orders, hi = found, mid
		} else {
			lo = mid + 1
		}
	}
	if orders == nil && by == "packing" {
		return nil, "", &NoRingError{p.t.Name, p.count, p.why, ""}
	}
	if orders == nil {
		return nil, "", &NoRingError{p.t.Name, p.count, p.proved(by), by}
	}
	return orders, by, nil
}

// widths are the bandwidths that the narrowest step of some ring set could have,
// widest first: an edge's, divided among the rings that take it. Left out is
// what counting excludes: every rank has a ring's share for each ring, each way.
func (p *ringProblem) widths() []units.Bandwidth {
	seen := map[units.Bandwidth]bool{}
	for _, table := range [][][]*hop{p.in, p.close} {
		for _, row := range table {
			for _, h := range row {
				if h == nil {
					continue
				}
				for _, e := range h.edges {
					for k := 1; k <= p.shares(e); k++ {
						if w := p.t.Edges[e].Bandwidth / units.Bandwidth(k); w > 0 {
							seen[w] = true
						}
					}
				}
			}
		}
	}
	var list []units.Bandwidth
	for w := range seen {
		list = append(list, w)
	}
	sort.Slice(list, func(i, j int) bool { return list[i] > list[j] })
	return slices.DeleteFunc(list, func(w units.Bandwidth) bool { return !p.enough(w) })
}

// enough tells whether every rank, and the step that closes a ring, has room
// for all rings where each step gets a width.
func (p *ringProblem) enough(width units.Bandwidth) bool {
	for i := range p.n {
		if out, in := p.room(i, width); p.n > 1 && min(out, in) < p.count {
			return false
		}
	}
	if p.leaving(width) < p.count || p.n > 1 && p.stepsAtMost(width) < p.stepsWanted() {
		return false
	}
	inside, _ := p.narrowest(width)
	return inside == nil
}

// shares is how often rings may take an edge: a direct link once for each physical
// link it stands for, a switch's or NIC's as often as they like to.
func (p *ringProblem) shares(e int) int {
	edge := p.t.Edges[e]
	if edge.From < len(p.t.Ranks) && edge.To < len(p.t.Ranks) {
		return min(edge.Count, p.count)
	}
	return p.mostTaken(e)
}

// mostTaken is how often rings can come to take an edge: each once where it is a
// rank's own, as a ring passes through the rank once; one between switches at every
// step.
func (p *ringProblem) mostTaken(e int) int {
	edge := p.t.Edges[e]
	from, to := edge.From < len(p.t.Ranks), edge.To < len(p.t.Ranks)
	switch {
	case from && to || (from || to) && !p.bothWays:
		return p.count
	case from || to:
		return 2 * p.count
	}
	return p.count * p.n
}

// capacity is how often rings may take an edge where each time has the given width.
func (p *ringProblem) capacity(e int, width units.Bandwidth) int {
	return int(min(p.t.Edges[e].Bandwidth/width, units.Bandwidth(p.shares(e))))
}

// obvious is the orders that need no solver: the first of the table that keeps
// to each link's share of the widest width; nil where none does.
func (p *ringProblem) obvious(widest units.Bandwidth) (orders [][]int, by string) {
	sequence, zigzag := upTo(p.n), upTo(p.n)
	for i := range zigzag {
		if zigzag[i] = (i + 1) / 2; i%2 == 0 {
			zigzag[i] = (p.n - i/2) % p.n
		}
	}
	for _, way := range []struct {
		by    string
		order []int
		turn  int // from ring to ring
		fits  bool
	}{
		{"identity order", sequence, 0, true},
		// On several nodes each ring can so leave a node elsewhere,
		{"identity order", sequence, 1, !p.closed()},
		// and 0 1 7 2 6 3 5 4, turned, never has a rank follow another twice.
		{"zigzag order", zigzag, 1, !p.closed() && p.n%2 == 0},
	} {
		if orders := p.turned(way.order, way.turn); way.fits && p.fits(orders, widest) {
			if way.by == "identity order" && p.complete() {
				return orders, "complete graph"
			}
			return orders, way.by
		}
	}
	return nil, ""
}

// complete tells whether every two ranks of a node are linked.
func (p *ringProblem) complete() bool {
	for i := range p.n {
		for j := range p.n {
			if i != j && p.in[i][j] == nil {
				return false
			}
		}
	}
	return p.n > 1
}

// turned is an order for each ring, turned by so much from ring to ring.
func (p *ringProblem) turned(order []int, by int) (orders [][]int) {
	for k := range p.count {
		own := slices.Clone(order)
		for i := range own {
			own[i] = (own[i] + k*by) % p.n
		}
		orders = append(orders, own)
	}
	return orders
}

// fits tells whether every step exists and no edge is taken more often than
// the width allows.
func (p *ringProblem) fits(orders [][]int, width units.Bandwidth) bool {
	taken := map[int]int{}
	for _, order := range orders {
		for i, from := range order {
			table := p.in
			if i == p.n-1 {
				table = p.close
			}
			h := table[from][order[(i+1)%p.n]]
			if h == nil {
				return false
			}
			for _, e := range h.edges {
				if taken[e]++; taken[e] > p.capacity(e, width) {
					return false
				}
			}
		}
	}
	return true
}

// ask looks for orders of at least a width, by counting and packing and else by a
// solver; nil where there are none.
func (p *ringProblem) ask(ctx context.Context, s *Solvers, width units.Bandwidth) (orders [][]int, by string, err error) {
	if orders, settled := p.askByCounts(width); settled {
		return orders, "counting", nil
	}
	switch orders, why, is := p.askByPacking(ctx, width); is {
	case packed:
		return orders, "packing", nil
	case impossible:
		p.why = why
		return nil, "packing", nil
	}
	if orders := p.askByExchange(width); orders != nil {
		return orders, "exchange", nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	return p.askSolvers(ctx, s, width)
}

// askSolvers is ask where only solvers can tell.
func (p *ringProblem) askSolvers(ctx context.Context, s *Solvers, width units.Bandwidth) (orders [][]int, by string, err error) {
	if p.noSolver {
		return nil, "", &RingTimeoutError{p.t.Name, p.count, "no solver was asked"}
	}
	if p.n > packedRanks || p.n*p.count > settled {
		return p.askByCuts(ctx, s, width)
	}
	return p.askByPositions(ctx, s, width)
}

// query asks solvers, with what is left of their work.
func (p *ringProblem) query(ctx context.Context, s *Solvers, f *Formula, first ...string) (Answer, error) {
	if p.workLeft == nil {
		return s.SolveInOrder(ctx, f, first...)
	}
	if *p.workLeft < time.Microsecond {
		return Answer{Status: Timeout, Detail: "solvers have done what work they may"}, nil
	}
	a, err := s.SolveWithin(ctx, *p.workLeft, f, first...)
	*p.workLeft -= a.Work
	return a, err
}

// askByPositions is ask for systems of up to settled ranks and rings.
func (p *ringProblem) askByPositions(ctx context.Context, s *Solvers, width units.Bandwidth) (orders [][]int, by string, err error) {
	enc := p.encode(width)
	a, err := p.query(ctx, s, enc.f)
	switch {
	case err != nil:
		return nil, "", err
	case a.Status == Timeout:
		return nil, "", &RingTimeoutError{p.t.Name, p.count, a.Detail + " (" + a.By + ")"}
	case a.Status == Unsat:
		return nil, a.By, nil
	}
	orders = enc.orders(a.Model)
	for _, order := range orders {
		if slices.Contains(order, -1) {
			return nil, "", fmt.Errorf("ring order with a gap in it: %v", order)
		}
	}
	return orders, a.By, nil
}
