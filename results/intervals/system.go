package intervals

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/colltune/colltune/topologies"
)

// System is what zones and evidence ask of a topology. The zero value is like no machine.
type System struct {
	Link, Network, Arch string // as in Zone
	// Constants names what the simulator knows of such systems: the generation, the links' rates
	// and the protocols' costs. Systems that have the same are simulated alike.
	Constants string
}

// networks are the networks told apart, as topologies name them.
var networks = []string{"infiniband", "slingshot"}

// SystemOf returns the system of a topology. A generated one has none: no machine is like it.
func SystemOf(t *topologies.Topology) System {
	if strings.Contains(t.Name, ":") {
		return System{}
	}
	s := System{Network: oneNode, Arch: t.Arch}
	link := linkOf(t)
	switch link.Kind {
	case topologies.NVLink:
		s.Link = "NVLink"
	case topologies.XGMI:
		s.Link = "xGMI"
	case topologies.PCIe:
		s.Link = "PCIe"
	default:
		return System{}
	}
	known := []string{t.Arch, fmt.Sprintf("%s of %.4g GB/s", s.Link, link.Bandwidth.GBps()/float64(link.Count))}
	if t.Nodes > 1 {
		s.Network = "other"
		for _, v := range t.Vertices {
			for _, n := range networks {
				if v.Kind == topologies.Fabric && strings.Contains(strings.ToLower(v.Name), n) {
					s.Network = n
				}
			}
		}
		for _, e := range t.Edges {
			if e.Kind == topologies.Net && t.Vertices[e.To].Kind == topologies.Fabric {
				known = append(known, fmt.Sprintf("%s of %.4g GB/s", s.Network, e.Bandwidth.GBps()))
				break
			}
		}
	}
	sum := fnv.New32a()
	for _, p := range t.HasProtocols() {
		fmt.Fprintf(sum, "%s %v\n", p, t.Protocols[p])
	}
	s.Constants = fmt.Sprintf("%s, %08x", strings.Join(known, ", "), sum.Sum32())
	return s
}

// linkOf returns a link of the kind that joins the GPUs of a node: NVLink, XGMI or PCIe, the fastest
// that the system has, or PCIe where that one joins but some of them, as NVLink bridges do.
func linkOf(t *topologies.Topology) topologies.Edge {
	link := topologies.Edge{Kind: topologies.Net, Count: 1}
	for _, e := range t.Edges {
		if e.Kind < link.Kind {
			link = e
		}
	}
	if link.Kind == topologies.Net || joins(t, link.Kind) {
		return link
	}
	for _, e := range t.Edges {
		if e.Kind == topologies.PCIe {
			return e
		}
	}
	return link
}

// joins reports whether links of a kind lead from the first GPU of a node to all others of it.
func joins(t *topologies.Topology, kind topologies.LinkKind) bool {
	reached := make([]bool, len(t.Vertices))
	first := slices.IndexFunc(t.Vertices, func(v topologies.Vertex) bool { return v.Kind == topologies.GPU })
	reached[first] = true
	for more := true; more; {
		more = false
		for _, e := range t.Edges {
			if e.Kind == kind && reached[e.From] && !reached[e.To] {
				reached[e.To], more = true, true
			}
		}
	}
	for i, v := range t.Vertices {
		if v.Kind == topologies.GPU && v.Node == t.Vertices[first].Node && !reached[i] {
			return false
		}
	}
	return true
}
