package search

import (
	"cmp"
	"context"
	"math/bits"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/baseline"
)

// The vendor's library has a time on systems on which its program is more than a search
// compiles, has more threadblocks than a GPU holds (the library shares a few channels among
// all peers), or sends between GPUs without a link, by way of others. Its programs are regular. Once a pipeline is full, each further step
// takes as long as the one before, so with messages of the same size the time is linear in
// the number of steps:
//
//	nodes     4          8                            256
//	bytes     S/64       S/32                         S
//	          simulated  simulated ── a line through both ──▶ steady state

// growth is how a family's program grows with the nodes, where these are alike.
type growth struct {
	// divided: the size is divided among the ranks, so that messages stay the same where it
	// is in proportion to the nodes.
	divided    bool
	steps      func(nodes int) int                 // what the time is linear in
	operations func(ranks, ways, channels int) int // at least those that the program has
	pairs      [][2]int                            // numbers of nodes to simulate, the most exact first
}

var growths = map[string]growth{
	"ring":               {true, each, func(n, rings, channels int) int { return n * n * rings * channels }, linearPairs},
	"direct":             {true, each, func(n, _, channels int) int { return n * n * channels }, linearPairs},
	"chain":              {false, each, func(n, chains, channels int) int { return n * chains * channels }, linearPairs},
	"double-binary-tree": {false, levels, func(n, trees, channels int) int { return 2 * n * trees * channels }, levelPairs},
	toTheNext:            {false, each, func(n, _, channels int) int { return n * channels }, linearPairs},
}

// toTheNext is the direct form where each rank sends to the next one only.
const toTheNext = "direct, to the next rank"

var (
	linearPairs = [][2]int{{4, 8}, {3, 6}, {2, 4}, {2, 3}}
	levelPairs  = [][2]int{{8, 16}, {4, 8}, {2, 4}}
)

func each(nodes int) int { return nodes }

// levels is the height of a binary tree of the nodes.
func levels(nodes int) int { return bits.Len(uint(nodes - 1)) }

// maxSteady is the most operations of a program that is simulated for a steady state, where
// fewer nodes would do.
const maxSteady = 1 << 18

// growthOf returns how a choice's program grows here; why says that it does not evenly.
func (e *enumeration) growthOf(c baseline.Choice) (g growth, why string) {
	family := c.Family
	if e.sendsToNext() {
		family = toTheNext
	}
	g, known := growths[family]
	switch p := e.problem; {
	case !known:
		return g, "it has no steady state"
	case len(p.Counts) > 0 && p.Topology.Nodes > g.pairs[len(g.pairs)-1][1]: // where fewer are all simulated
		return g, "the counts of " + p.Collective + " differ"
	case !e.problem.Topology.Alike():
		return g, "nodes are not alike, or not joined alike"
	}
	return g, ""
}

// sendsToNext reports whether each rank sends to the next one only.
func (e *enumeration) sendsToNext() bool {
	return e.problem.Collective == "sendrecv" || e.problem.Collective == "alltonext"
}

// ways is how many different rings or trees a choice has.
func ways(c baseline.Choice) int { return max(c.Parameters["rings"], c.Parameters["trees"], 1) }

// outgrown reports whether a choice's program is refused as a candidate, unless flags ask for
// it: for its operations, because a GPU sends to more peers at once than it has SMs, or
// because some of its messages pass other GPUs.
func (e *enumeration) outgrown(c baseline.Choice) bool {
	g, why := e.growthOf(c)
	n := len(e.problem.Topology.Ranks)
	return why == "" && (int64(g.operations(n, ways(c), c.Channels)) > min(maxOperations, e.options.mostOperations()) ||
		c.Family == "direct" && !e.sendsToNext() && (n-1)*c.Channels > e.problem.Topology.MinSMs() || e.forwards(c))
}

// forwards reports whether a choice, on nodes that are alike, sends between GPUs of a node
// that have no link.
func (e *enumeration) forwards(c baseline.Choice) bool {
	node := e.problem.Topology.FirstNodes(1)
	return c.Family == "direct" && node.Forwarding() != node
}

// steadyBaseline is the library's call at a point by the steady state of its choice, as
// its name says unless all nodes were simulated, and with messages that pass other GPUs, as
// its name says, too; why says that there is none.
func (e *enumeration) steadyBaseline(ctx context.Context, at baselinePoint) (b Baseline, why string, err error) {
	us, whole, why, err := e.steady(ctx, at.choice, at.bytes)
	b = Baseline{Bytes: at.bytes, InPlace: e.problem.InPlace, Name: at.name, Protocol: at.protocol, clockUS: us}
	if e.forwards(at.choice) {
		b.Name += forwardedMark
	}
	if !whole {
		b.Name += steadyMark
	}
	return b, why, err
}

// Marks at the end of the names of baselines that are timed by a steady state, and of those
// whose messages between GPUs without a link pass others.
const (
	steadyMark    = ", steady state"
	forwardedMark = ", by way of other GPUs"
)

// steadyInstead gives the points of drafts that were refused the times of steady states,
// where there are any, and takes them from the drafts.
func (e *enumeration) steadyInstead(ctx context.Context, drafts []*draft, all []*built) (timed []Baseline, err error) {
	if cmp.Or(e.options.Executor, "sim") != "sim" {
		return nil, nil
	}
	for i, d := range drafts {
		if all[i] == nil || all[i].refusal == nil {
			continue
		}
		var left []baselinePoint
		for _, at := range d.points {
			b, why, err := e.steadyBaseline(ctx, at)
			switch {
			case err != nil:
				return nil, err
			case why != "":
				left = append(left, at)
			default:
				timed = append(timed, b)
			}
		}
		d.points = left
	}
	return timed, nil
}

// steady returns the time of a choice in microseconds, or why there is none. The choice is
// the one at the system's own scale: channels, protocol and chunks are. Whole is whether
// all nodes were simulated.
func (e *enumeration) steady(ctx context.Context, c baseline.Choice, bytes int64) (us float64, whole bool, why string, err error) {
	g, why := e.growthOf(c)
	if why != "" {
		return 0, false, why, nil
	}
	nodes, gpus := e.problem.Topology.Nodes, len(e.problem.Topology.NodeRanks(0))
	pair := g.pairs[len(g.pairs)-1]
	for _, p := range g.pairs {
		if g.operations(p[1]*gpus, ways(c), c.Channels) <= maxSteady {
			pair = p
			break
		}
	}
	if nodes <= pair[1] {
		us, why, err = e.onFirst(ctx, nodes, g, c, bytes)
		return max(us+c.ExtraUS, c.LeastUS), true, why, err
	}
	var at [2]float64
	for i, n := range pair {
		if at[i], why, err = e.onFirst(ctx, n, g, c, bytes); why != "" || err != nil {
			return 0, false, why, err
		}
	}
	step := max(at[1]-at[0], 0) / float64(g.steps(pair[1])-g.steps(pair[0]))
	us = at[1] + step*float64(g.steps(nodes)-g.steps(pair[1])) + c.ExtraUS
	return max(us, c.LeastUS, c.TurnsUS), false, "", nil
}

// onFirst simulates a choice on the first nodes alone, with messages as large as on all.
func (e *enumeration) onFirst(ctx context.Context, nodes int, g growth, c baseline.Choice, bytes int64) (us float64, why string, err error) {
	key := routingName(c)
	prepared, known := e.steadies[nodes][key]
	if !known {
		if prepared, why, err = e.prepareFirst(ctx, nodes, c); err != nil || why != "" {
			return 0, why, err
		}
		if e.steadies == nil {
			e.steadies = map[int]map[string]*sim.Prepared{}
		}
		if e.steadies[nodes] == nil {
			e.steadies[nodes] = map[string]*sim.Prepared{}
		}
		e.steadies[nodes][key] = prepared
	}
	elem := e.problem.ElemBytes()
	elements := (bytes + elem - 1) / elem
	if g.divided {
		all := int64(e.problem.Topology.Nodes)
		elements = (elements*int64(nodes) + all - 1) / all
	}
	r, err := prepared.RunContext(ctx, sim.Knobs{Bytes: elements * elem, Protocol: c.Protocol, TileBytes: c.TileBytes, ElemBytes: elem})
	return r.TimeUS, "", err
}

// prepareFirst compiles and prepares a choice's program over the first nodes. Its
// threadblocks may be more than a GPU holds at once.
func (e *enumeration) prepareFirst(ctx context.Context, nodes int, c baseline.Choice) (prepared *sim.Prepared, why string, err error) {
	solvers, err := e.solver()
	if err != nil {
		return nil, "", err
	}
	p := *e.problem
	p.Topology = e.problem.Topology.FirstNodes(nodes)
	if c.Family == "direct" {
		p.Topology = p.Topology.Forwarding()
	}
	p.Root = e.problem.Topology.Ranks[p.Root].Local // of the first node
	first := &enumeration{problem: &p, options: e.options, machine: machineOf(p.Topology), solvers: solvers}
	d, why, err := first.baselineDraft(ctx, c)
	if d == nil || err != nil {
		return nil, why, err
	}
	program, err := d.routing.traced()
	if err != nil {
		return nil, "", err
	}
	result, err := compiler.Compile(program, compiler.Options{Instances: d.instances, MaxChannels: maxChannels(p.Topology), Slots: e.slots(d.protocol), Context: ctx})
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil:
		return nil, err.Error(), nil
	}
	prepared, err = sim.Prepare(result.Program, p.Topology)
	return prepared, "", err
}
