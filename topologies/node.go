package topologies

// Node returns one node of the system as a topology of its own, without NICs
// and fabric, with ranks numbered from 0. It returns nil if there is no such
// node.
func (t *Topology) Node(node int) *Topology {
	ranks := t.NodeRanks(node)
	if len(ranks) == 0 {
		return nil
	}
	one := Topology{Name: t.Name, Nodes: 1, Runtime: t.Runtime, Arch: t.Arch, CPU: t.CPU, NICPath: t.NICPath, NoMSCCLFiles: t.NoMSCCLFiles, Protocols: t.Protocols}
	number := make(map[int]int) // from a vertex of t to its number in the node
	keep := func(v int) {
		number[v] = len(one.Vertices)
		vertex := t.Vertices[v]
		vertex.Node = 0
		one.Vertices = append(one.Vertices, vertex)
	}
	for _, r := range ranks {
		keep(r)
		rank := t.Ranks[r]
		rank.Node = 0
		one.Ranks = append(one.Ranks, rank)
	}
	for v := len(t.Ranks); v < len(t.Vertices); v++ {
		if t.Vertices[v].Node == node && t.Vertices[v].Kind == Switch {
			keep(v)
		}
	}
	for _, e := range t.Edges {
		from, inside := number[e.From]
		to, both := number[e.To]
		if inside && both {
			e.From, e.To = from, to
			one.Edges = append(one.Edges, e)
		}
	}
	return &one // edges are sorted, because vertices kept their order
}
