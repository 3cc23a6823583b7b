package intervals

import (
	"strings"

	"github.com/colltune/colltune/internal/lists"
)

// Any is a part of a wider zone that is not told apart.
const Any = "any"

// Instructions is the clock of times that the simulator gives to a program's instructions, the
// library's own or another's. Times of the library by a closed form have its algorithm as their
// clock: nvls, pat.
const Instructions = "instructions"

// Zone is what measured rows are alike in, by what makes a simulated time wrong. Any stands for
// a part that is not told apart.
type Zone struct {
	Clock    string // Instructions, or the library's algorithm
	Link     string // NVLink, xGMI or PCIe: what joins the GPUs of a node
	Network  string // what joins nodes: infiniband, slingshot, …; none: one node; Any: several
	Arch     string // the generation of the GPUs: hopper
	Protocol string // LL, LL128 or Simple
	Work     string // collectives that share a pattern, joined by a comma, or the primitives of them
	Sizes    string // one of Bands
}

// String names a zone: NVLink, one node, hopper, Simple, allreduce, from 16M. A part that is not
// told apart is left out.
func (z Zone) String() string {
	network := z.Network
	switch {
	case z.oneNode():
		network = "one node"
	case network == Any:
		network = "several nodes"
	}
	var parts []string
	if z.Clock != Instructions {
		parts = append(parts, "the library's "+z.Clock)
	}
	for _, part := range []string{z.Link, network, z.Arch, z.Protocol, z.Work, z.Sizes} {
		if part != Any {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

func (z Zone) oneNode() bool { return z.Network == oneNode }

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

// large reports whether the sizes are of 1 MiB and more.
func (z Zone) large() bool { return z.Sizes == bands[2].name || z.Sizes == lastBand }

// Bands lists the bands of sizes, rising.
func Bands() []string {
	return append(lists.Map(bands, func(b zoneBand) string { return b.name }), lastBand)
}

// bandAt is where a band is in Bands.
func bandAt(name string) int {
	for i, b := range bands {
		if b.name == name {
			return i
		}
	}
	return len(bands)
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

// Call is what ran, for zones.
type Call struct {
	Clock      string
	Protocol   string
	Collective string
	// UpAndDown says that an all-reduce's sums and its results go different ways, as in trees.
	UpAndDown bool
	Bytes     int64
}

// upAndDown is the Work of such all-reduces.
const upAndDown = "allreduce up and down"

// work are the collectives whose messages follow one pattern.
var work = map[string]string{
	"allreduce": "allreduce",
	"allgather": "allgather, reducescatter", "reducescatter": "allgather, reducescatter",
	"broadcast": "broadcast, reduce", "reduce": "broadcast, reduce",
	"alltoall": "alltoall",
}

// primitives are those that a collective is made of.
func primitives(collective string) string {
	switch collective {
	case "allreduce", "reducescatter", "reduce":
		return "send, receive, reduce"
	}
	return "send, receive"
}

// Zones returns the zones of a call, each wider than the one before: its own, of collectives of
// its pattern alone; any generation's; any protocol's and collective's of the same primitives; and
// what the sizes alone tell on any system. Systems that no machine is like have none.
func (s System) Zones(c Call) (all []Zone) {
	if s.Link == "" {
		return nil
	}
	z := Zone{c.Clock, s.Link, s.Network, s.Arch, c.Protocol, work[c.Collective], BandOf(c.Bytes)}
	if c.UpAndDown {
		z.Work = upAndDown
	}
	if z.Work != "" {
		all = append(all, z)
		z.Arch = Any
		all = append(all, z)
	}
	z.Arch, z.Protocol, z.Work = Any, Any, primitives(c.Collective)
	all = append(all, z)
	z.Link, z.Work = Any, Any
	if !z.oneNode() {
		z.Network = Any
	}
	return append(all, z)
}
