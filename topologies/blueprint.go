package topologies

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// The largest system a reader or generator builds.
const (
	maxRanks = 1 << 16
	maxEdges = 1_000_000
)

// blueprint is a system before it is laid out: one node, how often it is there,
// and what joins the copies. Files and generators draw blueprints; build lays
// them out.
type blueprint struct {
	name, runtime, arch, cpu string

	nodes     int
	gpus, sms int // of a node
	switches  []switchPlan
	links     []linkPlan
	nics      []nicPlan
	fabric    *fabricPlan
	protocols [3]Protocol
}

// wire is what every kind of link has.
type wire struct {
	kind      LinkKind
	count     int
	bandwidth units.Bandwidth // of one of count, each way
	latency   units.Duration
}

// linkPlan joins two GPUs of a node, both ways or one.
type linkPlan struct {
	a, b   int
	oneWay bool
	wire
}

// switchPlan joins each of some GPUs of a node to one switch, both ways.
type switchPlan struct {
	name string
	gpus []int
	wire
}

// nicPlan is a NIC of a node: which GPUs send and which receive through it.
type nicPlan struct {
	sends, receives []int
	bandwidth       units.Bandwidth // each way
	latency         units.Duration  // between GPU and NIC
	message         units.Duration  // a message's cost on the way out
}

// fabricPlan joins the NICs of all nodes.
type fabricPlan struct {
	name    string
	latency units.Duration // from NIC to NIC
}

// oversized says what of the blueprint is more than a topology may be, before
// any of it is built; nil where it fits.
func (b *blueprint) oversized() error {
	ranks := int64(b.nodes) * int64(b.gpus)
	edges := int64(2 * len(b.links))
	for _, s := range b.switches {
		edges += 2 * int64(len(s.gpus))
	}
	if b.nodes > 1 {
		for _, n := range b.nics {
			edges += int64(len(n.sends)+len(n.receives)) + 2
		}
	}
	switch {
	case ranks > maxRanks:
		return fmt.Errorf("%d nodes of %d GPUs are %d ranks: want at most %d", b.nodes, b.gpus, ranks, maxRanks)
	case int64(b.nodes)*edges > maxEdges:
		return fmt.Errorf("%d nodes of %d links each way are %d: want at most %d", b.nodes, edges, int64(b.nodes)*edges, maxEdges)
	}
	return nil
}

// only keeps the GPUs named by their local numbers, and of switches and NICs
// those that still serve one.
func (b *blueprint) only(gpus []int) error {
	keep := map[int]bool{}
	for _, g := range gpus {
		switch {
		case g < 0 || g >= b.gpus:
			return fmt.Errorf("gpu %d is not there: a node of %s has GPUs 0 to %d", g, b.name, b.gpus-1)
		case keep[g]:
			return fmt.Errorf("gpu %d is named twice", g)
		}
		keep[g] = true
	}
	gone := func(g int) bool { return !keep[g] }
	b.links = slices.DeleteFunc(slices.Clone(b.links), func(l linkPlan) bool { return gone(l.a) || gone(l.b) })
	for i := range b.switches {
		b.switches[i].gpus = slices.DeleteFunc(slices.Clone(b.switches[i].gpus), gone)
	}
	b.switches = slices.DeleteFunc(b.switches, func(s switchPlan) bool { return len(s.gpus) == 0 })
	for i := range b.nics {
		b.nics[i].sends = slices.DeleteFunc(slices.Clone(b.nics[i].sends), gone)
		b.nics[i].receives = slices.DeleteFunc(slices.Clone(b.nics[i].receives), gone)
	}
	b.nics = slices.DeleteFunc(b.nics, func(n nicPlan) bool { return len(n.sends)+len(n.receives) == 0 })
	return nil
}

// build lays the blueprint out. gpus are the local numbers that are there, by
// rising number. NICs and the fabric are there from two nodes on: a node alone
// sends nothing through them. It fails where two links of one kind join the
// same two vertices, or where some rank cannot reach another.
func (b *blueprint) build(gpus []int) (*Topology, error) {
	t := &Topology{
		Name: b.name, Nodes: b.nodes, Runtime: b.runtime, Arch: b.arch, CPU: b.cpu,
		Protocols: b.protocols,
	}
	local := make([]int, b.gpus) // position among those that are there
	for i, g := range gpus {
		local[g] = i
	}
	for node := range b.nodes {
		for _, g := range gpus {
			t.Ranks = append(t.Ranks, Rank{Node: node, Local: g, SMs: b.sms})
			t.Vertices = append(t.Vertices, Vertex{Kind: GPU, Node: node, Name: gpuName(g)})
		}
	}
	nics := b.nics
	if b.nodes == 1 {
		nics = nil
	}
	inner := len(b.switches) + len(nics) // vertices of a node that are not ranks
	fabric := len(t.Ranks) + b.nodes*inner
	for node := range b.nodes {
		rank := func(gpu int) int { return node*len(gpus) + local[gpu] }
		for _, l := range b.links {
			t.join(rank(l.a), rank(l.b), l.wire)
			if !l.oneWay {
				t.join(rank(l.b), rank(l.a), l.wire)
			}
		}
		for _, s := range b.switches {
			v := len(t.Vertices)
			t.Vertices = append(t.Vertices, Vertex{Kind: Switch, Node: node, Name: s.name})
			for _, g := range s.gpus {
				t.join(rank(g), v, s.wire)
				t.join(v, rank(g), s.wire)
			}
		}
		for i, n := range nics {
			v := len(t.Vertices)
			t.Vertices = append(t.Vertices, Vertex{Kind: NIC, Node: node, Name: fmt.Sprintf("nic %d", i)})
			bus := wire{kind: Net, count: 1, bandwidth: n.bandwidth, latency: n.latency}
			for _, g := range n.sends {
				t.join(rank(g), v, bus)
			}
			for _, g := range n.receives {
				t.join(v, rank(g), bus)
			}
			if len(n.sends) > 0 {
				t.Edges = append(t.Edges, Edge{From: v, To: fabric, Kind: Net, Count: 1,
					Bandwidth: n.bandwidth, Latency: b.fabric.latency, Message: n.message})
			}
			if len(n.receives) > 0 {
				t.Edges = append(t.Edges, Edge{From: fabric, To: v, Kind: Net, Count: 1, Bandwidth: n.bandwidth})
			}
		}
	}
	if b.nodes > 1 && b.fabric != nil {
		t.Vertices = append(t.Vertices, Vertex{Kind: Fabric, Node: -1, Name: b.fabric.name})
	}
	slices.SortFunc(t.Edges, compareEdges)
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Topology) join(from, to int, w wire) {
	t.Edges = append(t.Edges, Edge{From: from, To: to, Kind: w.kind, Count: w.count,
		Bandwidth: units.Bandwidth(w.count) * w.bandwidth, Latency: w.latency})
}
