package intervals

import (
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// Any is a part of a wider zone that is not told apart.
const Any = "any"

// What ran.
const (
	Library = "library" // the vendor's, as it chooses
	Program = "program"
)

// Zone is what measured rows are alike in.
type Zone struct {
	Ran        string // Library or Program
	System     string // NVLink, xGMI or PCIe: what joins the GPUs of a node; Any
	Network    string // what joins nodes: infiniband, slingshot, …; none: one node; Any: several
	Collective string // collectives that share a pattern, joined by a comma; Any
	Sizes      string // one of Bands
}

// String names a zone: library, NVLink, one node, allreduce, from 16M.
func (z Zone) String() string {
	network := z.Network
	switch {
	case z.oneNode():
		network = "one node"
	case network == Any:
		network = "several nodes"
	}
	of := z.System
	if of == Any {
		of = "any system"
	}
	collective := z.Collective
	if collective == Any {
		collective = "any collective"
	}
	return strings.Join([]string{z.Ran, of, network, collective, z.Sizes}, ", ")
}

const oneNode = "none"

// bands are the bands of sizes, with where they end.
type zoneBand struct {
	name string
	end  int64
}

var bands = []zoneBand{
	{"below 64K", 64 << 10},
	{"64K to 1M", 1 << 20},
	{"1M to 16M", 16 << 20},
}

// lastBand has no end.
const lastBand = "from 16M"

// Bands lists the bands of sizes, rising.
func Bands() []string {
	return append(lists.Map(bands, func(b zoneBand) string { return b.name }), lastBand)
}

// BandOf returns the band of a size in bytes.
func BandOf(bytes int64) string {
	for _, b := range bands {
		if bytes < b.end {
			return b.name
		}
	}
	return lastBand
}

// groups are collectives whose messages follow one pattern.
var groups = map[string]string{
	"allreduce": "allreduce",
	"allgather": "allgather, reducescatter", "reducescatter": "allgather, reducescatter",
	"broadcast": "broadcast, reduce", "reduce": "broadcast, reduce",
	"alltoall": "alltoall",
}

// System is the kind of a system, for zones. The zero value is of no kind that was
// measured.
type System struct{ Kind, Network string }

// networks are the networks told apart, as topologies name them.
var networks = []string{"infiniband", "slingshot"}

// SystemOf returns the kind of a topology. A generated one has none: no machine is like
// it.
func SystemOf(t *topologies.Topology) System {
	if strings.Contains(t.Name, ":") {
		return System{}
	}
	s := System{Network: oneNode}
	fastest := topologies.Net
	for _, e := range t.Edges {
		if e.Kind < fastest { // NVLink, XGMI, PCIe
			fastest = e.Kind
		}
	}
	switch fastest {
	case topologies.NVLink:
		s.Kind = "NVLink"
	case topologies.XGMI:
		s.Kind = "xGMI"
	case topologies.PCIe:
		s.Kind = "PCIe"
	default:
		return System{}
	}
	if t.Nodes > 1 {
		s.Network = "other"
		for _, v := range t.Vertices {
			for _, n := range networks {
				if v.Kind == topologies.Fabric && strings.Contains(strings.ToLower(v.Name), n) {
					s.Network = n
				}
			}
		}
	}
	return s
}

// Zones returns the zones of a call, each wider than the one before: its own, and that of
// the same size with any collective on any system. Systems and collectives that nothing
// measured is like have none.
func (s System) Zones(ran, collective string, bytes int64) []Zone {
	group, known := groups[collective]
	if s.Kind == "" || !known {
		return nil
	}
	own := Zone{ran, s.Kind, s.Network, group, BandOf(bytes)}
	wide := Zone{ran, Any, Any, Any, own.Sizes}
	if own.oneNode() {
		wide.Network = own.Network
	}
	return []Zone{own, wide}
}

func (z Zone) oneNode() bool { return z.Network == oneNode }

// Place is where a zone's kinds count: the same algorithm over nodes is another one.
func (z Zone) Place() string {
	if z.oneNode() {
		return z.Ran + ", one node"
	}
	return z.Ran + ", several nodes"
}
