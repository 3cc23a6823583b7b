package topologies

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// The largest system that files and generators may describe.
const (
	maxRanks = 1 << 16
	maxEdges = 1_000_000
)

// blueprint is the description of a system before its graph is built: the kinds
// of node, their order, and the fabric. Readers of files and generators make
// blueprints; build makes a Topology of one.
type blueprint struct {
	name, runtime, arch string
	noFiles             bool // the library does without its MSCCL files
	generated           bool

	kinds  []nodePlan
	order  []int // the kind of each node; if there are more nodes, it begins again
	nodes  int
	fabric *fabricPlan

	protocols [3]Protocol
}

// kind returns the kind of a node.
func (b *blueprint) kind(node int) *nodePlan { return &b.kinds[b.order[node%len(b.order)]] }

// nodePlan is one kind of node.
type nodePlan struct {
	label    string // empty where there is only one kind
	cpu      string
	nicPath  string
	gpus     int
	sms      int             // of a GPU
	memory   units.Bandwidth // of a GPU; 0 if the file does not say
	switches []switchPlan
	links    []linkPlan
	nics     []nicPlan
}

// wire holds the properties common to all kinds of link.
type wire struct {
	kind      LinkKind
	count     int
	bandwidth units.Bandwidth // of one of count links, each way
	counted   units.Bandwidth // the same, as the vendor's library counts it; 0: bandwidth
	latency   units.Duration
}

// end is one end of a link within a node: GPU g is g, switch i is ^i.
type end int

// linkPlan joins two GPUs or switches of a node, both ways or one.
type linkPlan struct {
	a, b   end
	oneWay bool
	wire
}

// switchPlan is a switch of a node, or a processor, with the GPUs joined to it
// both ways. It may have none, if links lead to it.
type switchPlan struct {
	name string
	gpus []int
	wire
}

// nicPlan is a NIC of a node: which GPUs send and which receive through it, or
// which switch it is attached to.
type nicPlan struct {
	number          int // its number within the node, in the file's order
	sends, receives []int
	at              int             // the switch that it is attached to; -1: none
	bandwidth       units.Bandwidth // each way
	counted         units.Bandwidth // the same, as the vendor's library counts it; 0: bandwidth
	bus             units.Bandwidth // between a GPU, or the switch, and the NIC
	latency         units.Duration  // the same
	message         units.Duration  // a message's cost on the way out
	far             []detourPlan
}

// detourPlan is GPUs that reach a NIC over a longer way.
type detourPlan struct {
	gpus      []int
	bandwidth units.Bandwidth
	latency   units.Duration
}

// only keeps the GPUs with these local numbers, and those links, switches and NICs
// that still lead to one of them.
func (n *nodePlan) only(gpus []int, system string) error {
	keep := map[int]bool{}
	for _, g := range gpus {
		switch {
		case g < 0 || g >= n.gpus:
			return fmt.Errorf("gpu %d is not there: a node of %s has GPUs 0 to %d", g, system, n.gpus-1)
		case keep[g]:
			return fmt.Errorf("gpu %d is named twice", g)
		}
		keep[g] = true
	}
	gone := func(g int) bool { return !keep[g] }
	lost := func(e end) bool { return e >= 0 && gone(int(e)) }
	left := func(gpus []int) []int { return slices.DeleteFunc(slices.Clone(gpus), gone) }

	n.links = slices.DeleteFunc(slices.Clone(n.links), func(l linkPlan) bool { return lost(l.a) || lost(l.b) })
	n.nics = slices.Clone(n.nics)
	for i := range n.nics {
		nic := &n.nics[i]
		nic.sends, nic.receives = left(nic.sends), left(nic.receives)
		nic.far = slices.Clone(nic.far)
		for j := range nic.far {
			nic.far[j].gpus = left(nic.far[j].gpus)
		}
	}
	n.switches = slices.Clone(n.switches)
	for i := range n.switches {
		n.switches[i].gpus = left(n.switches[i].gpus)
	}
	n.prune()
	n.nics = slices.DeleteFunc(n.nics, func(nic nicPlan) bool {
		return nic.at < 0 && len(nic.sends)+len(nic.receives) == 0 &&
			!slices.ContainsFunc(nic.far, func(f detourPlan) bool { return len(f.gpus) > 0 })
	})
	return nil
}

// prune removes switches that lead to no GPU, no NIC, and at most one other
// switch, and repeats until none is left.
func (n *nodePlan) prune() {
	for i := 0; i < len(n.switches); i++ {
		at := ^end(i)
		leads := len(n.switches[i].gpus)
		for _, l := range n.links {
			switch {
			case l.a != at && l.b != at:
			case l.a >= 0 || l.b >= 0:
				leads += 2 // to a GPU
			default:
				leads++
			}
		}
		hangs := slices.ContainsFunc(n.nics, func(nic nicPlan) bool { return nic.at == i })
		if len(n.switches[i].gpus) > 0 || hangs || leads > 1 {
			continue
		}
		n.drop(i)
		i = -1
	}
}

// drop removes switch i with its links, and renumbers the others.
func (n *nodePlan) drop(i int) {
	n.switches = slices.Delete(slices.Clone(n.switches), i, i+1)
	n.links = slices.DeleteFunc(slices.Clone(n.links), func(l linkPlan) bool { return l.a == ^end(i) || l.b == ^end(i) })
	renumber := func(e end) end {
		if e < ^end(i) {
			return e + 1
		}
		return e
	}
	for j := range n.links {
		n.links[j].a, n.links[j].b = renumber(n.links[j].a), renumber(n.links[j].b)
	}
	for j := range n.nics {
		if n.nics[j].at > i {
			n.nics[j].at--
		}
	}
}

// only keeps the GPUs with these local numbers in every node.
func (b *blueprint) only(gpus []int) error {
	for i := range b.kinds {
		system := b.name
		if b.kinds[i].label != "" {
			system += " of kind " + b.kinds[i].label
		}
		if err := b.kinds[i].only(gpus, system); err != nil {
			return err
		}
	}
	return nil
}

// edges counts the links of a node in each direction, including those of its NICs
// to the fabric.
func (n *nodePlan) edges(nodes int) int64 {
	edges := int64(2 * len(n.links))
	for _, s := range n.switches {
		edges += 2 * int64(len(s.gpus))
	}
	if nodes > 1 {
		for _, nic := range n.nics {
			edges += int64(len(nic.sends)+len(nic.receives)) + 4
			for _, f := range nic.far {
				edges += 2 * int64(len(f.gpus))
			}
		}
	}
	return edges
}

// sizeError returns an error if a part of the blueprint is larger than a
// topology may be, before any of it is built.
func (b *blueprint) sizeError() error {
	var ranks, edges int64
	for node := range b.nodes {
		ranks += int64(b.kind(node).gpus)
		edges += b.kind(node).edges(b.nodes)
		if ranks > maxRanks || edges > maxEdges {
			break
		}
	}
	first := b.kinds[0]
	switch {
	case ranks > maxRanks && len(b.kinds) == 1:
		return fmt.Errorf("%s of %s are %d ranks: want at most %d", units.Count(b.nodes, "node"), units.Count(first.gpus, "GPU"), int64(b.nodes)*int64(first.gpus), maxRanks)
	case ranks > maxRanks:
		return fmt.Errorf("%s have %d ranks or more: want at most %d", units.Count(b.nodes, "node"), ranks, maxRanks)
	case edges > maxEdges:
		return fmt.Errorf("%s with more links than a topology may have: want at most %d", units.Count(b.nodes, "node"), maxEdges)
	}
	if b.fabric != nil && b.nodes > 1 {
		if more := b.fabric.edges(b.nodes); edges+more > maxEdges {
			return fmt.Errorf("%d nodes have %d links, their fabric's included: want at most %d", b.nodes, edges+more, maxEdges)
		}
	}
	return nil
}

// disconnected reports whether there are several nodes without fabric or
// cables.
func (b *blueprint) disconnected() bool {
	if b.nodes == 1 || b.fabric != nil && len(b.fabric.cables) > 0 {
		return false
	}
	for _, k := range b.kinds {
		if len(k.nics) > 0 {
			return false
		}
	}
	return true
}

// nicPath returns the farthest of the ways to the nodes' NICs.
func (b *blueprint) nicPath() string {
	farthest := ""
	for _, k := range b.order {
		if path := b.kinds[k].nicPath; slices.Index(NICPaths, path) > slices.Index(NICPaths, farthest) {
			farthest = path
		}
	}
	return farthest
}

// cpu returns the maker of the processors. NCCL's model treats nodes that differ as
// AMD's.
func (b *blueprint) cpu() string {
	cpu := b.kinds[b.order[0]].cpu
	for _, k := range b.order {
		if b.kinds[k].cpu == "amd" {
			cpu = "amd"
		}
	}
	return cpu
}
