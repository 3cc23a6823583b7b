package topologies

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// layout is a topology under construction.
type layout struct {
	*Topology
	b       *blueprint
	gpus    []int // local numbers of the GPUs taken, rising; nil for all
	local   []int // by local number: position among them
	first   []int // rank of each node's first GPU
	inner   []int // vertex of each node's first switch; its NICs follow
	fabrics int   // the first leaf; plane by plane, then the spines
}

// build returns the topology of the blueprint, restricted to the GPUs with the
// given local numbers, in rising order; nil means all. NICs and fabric are left
// out if there is a single node, which sends nothing through them. It returns
// an error if two links of one kind join the same two vertices, or if some rank
// cannot reach another.
func (b *blueprint) build(gpus []int) (*Topology, error) {
	l := &layout{b: b, gpus: gpus, Topology: &Topology{
		Name: b.name, Nodes: b.nodes, Runtime: b.runtime, Arch: b.arch, CPU: b.cpu(), NICPath: b.nicPath(), NoMSCCLFiles: b.noFiles, Generated: b.generated,
		Protocols: b.protocols,
	}}
	if gpus != nil {
		l.local = make([]int, gpus[len(gpus)-1]+1)
		for i, g := range gpus {
			l.local[g] = i
		}
	}
	l.vertices()
	for node := range b.nodes {
		l.node(node)
		if b.nodes > 1 {
			l.nics(node)
		}
	}
	if b.nodes > 1 && b.fabric != nil {
		l.fabric()
		l.cables()
	}
	slices.SortFunc(l.Edges, compareEdges)
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Topology, nil
}

func (l *layout) vertices() {
	for node := range l.b.nodes {
		k := l.b.kind(node)
		l.first = append(l.first, len(l.Ranks))
		add := func(g int) {
			l.Ranks = append(l.Ranks, Rank{Node: node, Local: g, SMs: k.sms, Memory: k.memory})
			l.Vertices = append(l.Vertices, Vertex{Kind: GPU, Node: node, Name: gpuName(g)})
		}
		if l.gpus == nil {
			for g := range k.gpus {
				add(g)
			}
		}
		for _, g := range l.gpus {
			add(g)
		}
	}
	for node := range l.b.nodes {
		k := l.b.kind(node)
		l.inner = append(l.inner, len(l.Vertices))
		for _, s := range k.switches {
			l.Vertices = append(l.Vertices, Vertex{Kind: Switch, Node: node, Name: s.name})
		}
		if l.b.nodes == 1 {
			continue
		}
		for _, n := range k.nics {
			l.Vertices = append(l.Vertices, Vertex{Kind: NIC, Node: node, Name: fmt.Sprintf("nic %d", n.number)})
		}
	}
	l.fabrics = len(l.Vertices)
}

func (l *layout) rank(node, gpu int) int {
	if l.gpus != nil {
		gpu = l.local[gpu]
	}
	return l.first[node] + gpu
}

// at returns the vertex at the end of a link in a node.
func (l *layout) at(node int, e end) int {
	if e < 0 {
		return l.inner[node] + int(^e)
	}
	return l.rank(node, int(e))
}

func (l *layout) join(from, to int, w wire, message units.Duration) {
	l.Edges = append(l.Edges, Edge{From: from, To: to, Kind: w.kind, Count: w.count,
		Bandwidth: units.Bandwidth(w.count) * w.bandwidth, Counted: units.Bandwidth(w.count) * w.counted, Latency: w.latency, Message: message})
}

// node joins what is inside a node.
func (l *layout) node(node int) {
	k := l.b.kind(node)
	for _, link := range k.links {
		a, b := l.at(node, link.a), l.at(node, link.b)
		l.join(a, b, link.wire, 0)
		if !link.oneWay {
			l.join(b, a, link.wire, 0)
		}
	}
	for i, s := range k.switches {
		for _, g := range s.gpus {
			l.join(l.rank(node, g), l.inner[node]+i, s.wire, 0)
			l.join(l.inner[node]+i, l.rank(node, g), s.wire, 0)
		}
	}
}

// nics joins the NICs of a node to its GPUs or switches, and to their leaves.
func (l *layout) nics(node int) {
	k, f := l.b.kind(node), l.b.fabric
	for i, n := range k.nics {
		v := l.inner[node] + len(k.switches) + i
		bus := wire{kind: Net, count: 1, bandwidth: n.bus, latency: n.latency}
		for _, g := range n.sends {
			l.join(l.rank(node, g), v, bus, 0)
		}
		for _, g := range n.receives {
			l.join(v, l.rank(node, g), bus, 0)
		}
		if n.at >= 0 {
			l.join(l.inner[node]+n.at, v, bus, 0)
			l.join(v, l.inner[node]+n.at, bus, 0)
		}
		for _, far := range n.far {
			w := wire{kind: Net, count: 1, bandwidth: far.bandwidth, latency: far.latency}
			for _, g := range far.gpus {
				if n.sendsAtAll() {
					l.join(l.rank(node, g), v, w, 0)
				}
				if n.receivesAtAll() {
					l.join(v, l.rank(node, g), w, 0)
				}
			}
		}
		leaf := l.fabrics + n.number%f.planes*f.leaves(l.b.nodes) + f.leaf(node)
		if n.sendsAtAll() {
			l.join(v, leaf, wire{kind: Net, count: 1, bandwidth: n.bandwidth, counted: n.counted, latency: f.latency}, n.message)
		}
		if n.receivesAtAll() {
			l.join(leaf, v, wire{kind: Net, count: 1, bandwidth: n.bandwidth, counted: n.counted}, 0)
		}
	}
}

// With --gpus, a NIC may have lost all GPUs that send through it, or all that
// receive. A NIC on a switch, or one that GPUs only reach from afar, does both.
func (n *nicPlan) sendsAtAll() bool    { return len(n.sends) > 0 || n.at >= 0 || len(n.receives) == 0 }
func (n *nicPlan) receivesAtAll() bool { return len(n.receives) > 0 || n.at >= 0 || len(n.sends) == 0 }

// fabric makes the leaves and spines, and joins them.
func (l *layout) fabric() {
	f, nodes := l.b.fabric, l.b.nodes
	leaves, spines := f.leaves(nodes), f.spines(nodes)
	if !l.b.hasNICs() {
		return
	}
	for plane := range f.planes {
		for leaf := range leaves {
			name := f.name
			if f.planes > 1 {
				name += fmt.Sprintf(" plane %d", plane)
			}
			if leaves > 1 {
				name += fmt.Sprintf(" leaf %d", leaf)
			}
			l.Vertices = append(l.Vertices, Vertex{Kind: Fabric, Node: -1, Name: name})
		}
	}
	for s := range spines {
		name := f.name + " spine"
		if spines > 1 {
			name += fmt.Sprintf(" %d", s)
		}
		l.Vertices = append(l.Vertices, Vertex{Kind: Fabric, Node: -1, Name: name})
	}
	for plane := range f.planes {
		first := l.fabrics + plane*leaves
		for leaf := range leaves {
			if spines > 0 {
				spine := l.fabrics + f.planes*leaves + min(plane, spines-1)
				up, down := l.uplink(plane, leaf)
				l.join(first+leaf, spine, wire{kind: Net, count: 1, bandwidth: up, latency: f.spine.latency}, 0)
				l.join(spine, first+leaf, wire{kind: Net, count: 1, bandwidth: down}, 0)
			}
			for other := range leaves {
				if f.global != nil && other != leaf {
					l.join(first+leaf, first+other, *f.global, 0)
				}
			}
		}
	}
}

// uplink returns the bandwidth between a leaf and its spine, up and down: the
// file's, or that of the NICs below the leaf divided by the oversubscription.
func (l *layout) uplink(plane, leaf int) (up, down units.Bandwidth) {
	f := l.b.fabric
	if f.spine.over == 0 {
		return f.spine.bandwidth, f.spine.bandwidth
	}
	for node := range l.b.nodes {
		if f.leaf(node) != leaf {
			continue
		}
		for _, n := range l.b.kind(node).nics {
			if n.number%f.planes != plane {
				continue
			}
			if n.sendsAtAll() {
				up += n.bandwidth
			}
			if n.receivesAtAll() {
				down += n.bandwidth
			}
		}
	}
	over := func(w units.Bandwidth) units.Bandwidth {
		return max(units.Bandwidth(float64(w)/float64(f.spine.over)), 1)
	}
	return over(up), over(down)
}

// cables joins GPUs of different nodes directly. If two entries describe the same
// cable it is made once.
func (l *layout) cables() {
	laid := map[[2]int]bool{}
	for _, c := range l.b.fabric.cables {
		lay := func(from, to int) {
			if !laid[[2]int{from, to}] {
				laid[[2]int{from, to}] = true
				l.join(from, to, c.wire, c.message)
			}
		}
		c.each(l.b.nodes, func(i, j int) {
			if !l.taken(i, c.a) || !l.taken(j, c.b) {
				return
			}
			a, b := l.rank(i, c.a), l.rank(j, c.b)
			lay(a, b)
			if !c.oneWay {
				lay(b, a)
			}
		})
	}
}

// taken reports whether a node has a GPU and it is part of the topology.
func (l *layout) taken(node, gpu int) bool {
	if l.gpus != nil {
		_, ok := slices.BinarySearch(l.gpus, gpu)
		return ok
	}
	return gpu < l.b.kind(node).gpus
}

func (b *blueprint) hasNICs() bool {
	return slices.ContainsFunc(b.kinds, func(k nodePlan) bool { return len(k.nics) > 0 })
}
