package topologies

// Node returns one node of the system as a topology of its own, without NICs
// and fabric, with ranks numbered from 0. It returns nil if there is no such
// node.
func (t *Topology) Node(node int) *Topology {
	if len(t.NodeRanks(node)) == 0 {
		return nil
	}
	return t.part(1, node, func(v Vertex) bool { return v.Node == node && (v.Kind == GPU || v.Kind == Switch) })
}

// FirstNodes returns the first n nodes of the system, with the fabric, as a topology of
// their own; t itself if it has no more. n is 1 at least.
func (t *Topology) FirstNodes(n int) *Topology {
	if n >= t.Nodes {
		return t
	}
	return t.part(n, 0, func(v Vertex) bool { return v.Node < n })
}

// part returns the vertices that has takes, and the links between them, as a topology of
// their own of so many nodes, of which first is node 0.
func (t *Topology) part(nodes, first int, has func(Vertex) bool) *Topology {
	some := &Topology{Name: t.Name, Nodes: nodes, Runtime: t.Runtime, Arch: t.Arch, CPU: t.CPU, NICPath: t.NICPath, NoMSCCLFiles: t.NoMSCCLFiles, Protocols: t.Protocols}
	number := make([]int, len(t.Vertices)) // from a vertex of t to its number in some; -1: left out
	for v, vertex := range t.Vertices {
		number[v] = -1
		if !has(vertex) {
			continue
		}
		number[v] = len(some.Vertices)
		vertex.Node -= first
		some.Vertices = append(some.Vertices, vertex)
		if v < len(t.Ranks) {
			rank := t.Ranks[v]
			rank.Node -= first
			some.Ranks = append(some.Ranks, rank)
		}
	}
	for _, e := range t.Edges {
		if e.From, e.To = number[e.From], number[e.To]; e.From >= 0 && e.To >= 0 {
			some.Edges = append(some.Edges, e)
		}
	}
	return some // edges are sorted, because vertices kept their order
}
