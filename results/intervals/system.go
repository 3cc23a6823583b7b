package intervals

import (
	"fmt"
	"hash/fnv"
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
	fastest := topologies.Edge{Kind: topologies.Net, Count: 1}
	for _, e := range t.Edges {
		if e.Kind < fastest.Kind { // NVLink, XGMI, PCIe
			fastest = e
		}
	}
	switch fastest.Kind {
	case topologies.NVLink:
		s.Link = "NVLink"
	case topologies.XGMI:
		s.Link = "xGMI"
	case topologies.PCIe:
		s.Link = "PCIe"
	default:
		return System{}
	}
	known := []string{t.Arch, fmt.Sprintf("%s of %.4g GB/s", s.Link, fastest.Bandwidth.GBps()/float64(fastest.Count))}
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
