package library

import (
	"context"
	"math/bits"

	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
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
func (l *Library) growthOf(c *nccl.Choice) (g growth, why string) {
	family := c.Family
	if l.sendsToNext() {
		family = toTheNext
	}
	g, known := growths[family]
	switch p := &l.target; {
	case !known:
		return g, "it has no steady state"
	case len(p.Counts) > 0 && p.Topology.Nodes > g.pairs[len(g.pairs)-1][1]: // where fewer are all simulated
		return g, "the counts of " + p.Collective + " differ"
	case !l.target.Topology.Alike():
		return g, "nodes are not alike, or not joined alike"
	}
	return g, ""
}

// sendsToNext reports whether each rank sends to the next one only.
func (l *Library) sendsToNext() bool {
	return l.target.Collective == "sendrecv" || l.target.Collective == "alltonext"
}

// outgrown reports whether a choice's program is refused as a candidate, unless flags ask for
// it: for its operations, because a GPU sends to more peers at once than it has SMs, or
// because some of its messages pass other GPUs.
func (l *Library) outgrown(c *nccl.Choice) bool {
	g, why := l.growthOf(c)
	n := len(l.target.Topology.Ranks)
	return why == "" && !l.options.Measured && (int64(g.operations(n, c.Ways(), c.Channels)) > l.build.MostOperations() ||
		c.Family == "direct" && !l.sendsToNext() && (n-1)*c.Channels > l.target.Topology.MinSMs() || l.forwards(c))
}

// forwards reports whether a choice, on nodes that are alike, sends between GPUs of a node
// that have no link.
func (l *Library) forwards(c *nccl.Choice) bool {
	node := l.target.Topology.FirstNodes(1)
	return c.Family == "direct" && node.Forwarding() != node
}

// Marks at the end of the names of baselines that are timed by a steady state, and of those
// whose messages between GPUs without a link pass others.
const (
	steadyMark    = ", steady state"
	forwardedMark = ", by way of other GPUs"
)

// steadyTime is a time by the steady state of its choice, as its name says unless all nodes were
// simulated, and with messages that pass other GPUs, as its name says, too; why says that there
// is none.
func (l *Library) steadyTime(ctx context.Context, t Time) (_ Time, why string, err error) {
	us, whole, why, err := l.steady(ctx, t.choice, t.Bytes)
	if why != "" || err != nil {
		return t, why, err
	}
	t.From, t.US, t.ExtraUS, t.LeastUS, t.Draft = SteadyState, us, 0, 0, nil
	if l.forwards(t.choice) {
		t.Name += forwardedMark
	}
	if !whole {
		t.Name += steadyMark
	}
	return t, "", nil
}

// Instead gives the times of a draft that was refused those of steady states, where there are any,
// and returns how many are left without.
func (l *Library) Instead(ctx context.Context, times []Time, refused *program.Draft) (left int, err error) {
	for i := range times {
		if times[i].Draft != refused {
			continue
		}
		t, why := times[i], "trials are no simulator's"
		if !l.options.Measured {
			if t, why, err = l.steadyTime(ctx, t); err != nil {
				return 0, err
			}
		}
		if why != "" {
			left++
		} else {
			times[i] = t
		}
	}
	return left, nil
}

// steady returns the time of a choice in microseconds, or why there is none. The choice is
// the one at the system's own scale: channels, protocol and chunks are. Whole is whether
// all nodes were simulated.
func (l *Library) steady(ctx context.Context, c *nccl.Choice, bytes int64) (us float64, whole bool, why string, err error) {
	g, why := l.growthOf(c)
	if why != "" {
		return 0, false, why, nil
	}
	nodes, gpus := l.target.Topology.Nodes, len(l.target.Topology.NodeRanks(0))
	pair := g.pairs[len(g.pairs)-1]
	for _, p := range g.pairs {
		if g.operations(p[1]*gpus, c.Ways(), c.Channels) <= maxSteady {
			pair = p
			break
		}
	}
	if nodes <= pair[1] {
		us, why, err = l.onFirst(ctx, nodes, g, c, bytes)
		return max(us+c.ExtraUS, c.LeastUS), true, why, err
	}
	var at [2]float64
	for i, n := range pair {
		if at[i], why, err = l.onFirst(ctx, n, g, c, bytes); why != "" || err != nil {
			return 0, false, why, err
		}
	}
	step := max(at[1]-at[0], 0) / float64(g.steps(pair[1])-g.steps(pair[0]))
	us = at[1] + step*float64(g.steps(nodes)-g.steps(pair[1])) + c.ExtraUS
	return max(us, c.LeastUS, c.TurnsUS), false, "", nil
}

// steadyKey is a choice's program on the first nodes.
type steadyKey struct {
	nodes int
	name  string
}

// onFirst simulates a choice on the first nodes alone, with messages as large as on all.
func (l *Library) onFirst(ctx context.Context, nodes int, g growth, c *nccl.Choice, bytes int64) (us float64, why string, err error) {
	key := steadyKey{nodes, routingName(c)}
	prepared, known := l.steadies[key]
	if !known {
		if prepared, why, err = l.prepareFirst(ctx, nodes, c); err != nil || why != "" {
			return 0, why, err
		}
		l.steadies[key] = prepared
	}
	elem := l.target.ElemBytes()
	elements := (bytes + elem - 1) / elem
	if g.divided {
		all := int64(l.target.Topology.Nodes)
		elements = (elements*int64(nodes) + all - 1) / all
	}
	r, err := prepared.RunContext(ctx, sim.Knobs{Bytes: elements * elem, Protocol: c.Protocol, TileBytes: c.TileBytes, ElemBytes: elem})
	return r.TimeUS, "", err
}

// prepareFirst compiles and prepares a choice's program over the first nodes. Its
// threadblocks may be more than a GPU holds at once.
func (l *Library) prepareFirst(ctx context.Context, nodes int, c *nccl.Choice) (prepared *sim.Prepared, why string, err error) {
	t := l.target
	t.Topology = l.target.Topology.FirstNodes(nodes)
	if c.Family == "direct" {
		t.Topology = t.Topology.Forwarding()
	}
	t.Root = l.target.Topology.Ranks[t.Root].Local // of the first node
	first := &Library{build: l.build.For(t), target: t, options: l.options}
	d, why, err := first.draft(ctx, c)
	if d == nil || err != nil {
		return nil, why, err
	}
	traced, err := d.Routing.Traced()
	if err != nil {
		return nil, "", err
	}
	lowered, _, err := first.build.Lower(ctx, traced, d, d.Instances, true)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil:
		return nil, err.Error(), nil
	}
	prepared, err = sim.Prepare(lowered, t.Topology)
	return prepared, "", err
}
