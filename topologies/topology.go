package topologies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Topology is a GPU system as a directed graph: ranks, and the switches and
// NICs between them, joined by edges with a capacity and a latency.
type Topology struct {
	Name     string
	Nodes    int
	Ranks    []Rank
	Vertices []Vertex // vertices below len(Ranks) are the ranks
	Edges    []Edge   // sorted by (From, To, Kind)
	// Runtime is the vendor's library whose tiles, slots and launch cost Protocols
	// describe: nccl or rccl.
	Runtime string
	Arch    string // volta, ampere, hopper, blackwell, cdna3, …: input of the vendor's cost model
	CPU     string // intel, amd, …: input of the same model; may be empty
	NICPath string // pxb, pxn, phb, …: NCCL's name of the way to the NICs, another input; may be empty
	// NoMSCCLFiles says that the vendor's library does without the MSCCL files that it ships
	// and would take before its own algorithms: RCCL, on some systems.
	NoMSCCLFiles bool
	// Generated says that a generator made it: no vendor's library was made for such a machine.
	Generated bool
	Protocols [3]Protocol // indexed by Proto

	forwarded map[[2]int]Path // see Forwarding
	lazy      derived         // computed on first use
}

// Clone returns a copy whose numbers can be changed without changing t. Its GPUs do not
// forward.
func (t *Topology) Clone() *Topology {
	return &Topology{
		Name: t.Name, Nodes: t.Nodes, Ranks: slices.Clone(t.Ranks), Vertices: slices.Clone(t.Vertices), Edges: slices.Clone(t.Edges),
		Runtime: t.Runtime, Arch: t.Arch, CPU: t.CPU, NICPath: t.NICPath, NoMSCCLFiles: t.NoMSCCLFiles, Generated: t.Generated, Protocols: t.Protocols,
	}
}

// Rank is one GPU. Its number is its index in Topology.Ranks.
type Rank struct {
	Node  int // index, from 0
	Local int // index within the node, by the node's own numbering
	SMs   int // streaming multiprocessors, or compute units
	// Memory is the bandwidth of its memory, read or write; 0 if the file does not
	// say.
	Memory units.Bandwidth
}

// VertexKind is the kind of a vertex.
type VertexKind uint8

// The kinds of vertex.
const (
	GPU    VertexKind = iota
	Switch            // within a node; also a processor
	NIC
	Fabric // a switch between nodes
)

var vertexNames = [...]string{"gpu", "switch", "nic", "fabric"}

// String returns the kind's name in lower case: gpu, switch, nic or fabric.
func (k VertexKind) String() string { return vertexNames[k] }

// Vertex is a GPU, or a device that messages pass through.
type Vertex struct {
	Kind VertexKind
	Node int // -1 for the fabric
	Name string
}

// LinkKind is the technology of a link.
type LinkKind uint8

// The kinds of link. Net is any edge of a path that leaves the node. Host joins
// the processors of a node (UPI, xGMI between sockets, X-Bus).
const (
	NVLink LinkKind = iota
	XGMI
	PCIe
	Net
	Host
)

var linkNames = [...]string{"nvlink", "xgmi", "pcie", "net", "host"}

// String returns the name topology files use.
func (k LinkKind) String() string { return linkNames[k] }

// Edge is one direction of a link. All messages on it share Bandwidth.
type Edge struct {
	From, To  int // vertices
	Kind      LinkKind
	Count     int             // number of physical links
	Bandwidth units.Bandwidth // of all physical links together
	Counted   units.Bandwidth // the same, as the vendor's library counts it when it chooses; 0: Bandwidth
	Latency   units.Duration  // added to a message's arrival
	Message   units.Duration  // time that a message occupies the edge in addition to its bytes, as in a NIC
}

// Path is the route of messages from one rank to another: edges in order,
// without ranks in between but where GPUs forward (Forwarding).
type Path struct {
	Edges   []int
	Latency units.Duration
	Net     bool // it leaves the node
}

// Route is a path whose edges are in parts, one after another.
type Route struct {
	Parts   [3][]int
	Latency units.Duration
	Net     bool // it leaves the node
}

// Proto is a wire protocol of the runtimes (GC3 section 6.1).
type Proto uint8

// The protocols, in NCCL's order.
const (
	LL Proto = iota
	LL128
	Simple
)

// AllProtocols lists the protocols in order.
var AllProtocols = [...]Proto{LL, LL128, Simple}

var protoNames = [...]string{"LL", "LL128", "Simple"}

// String returns the protocol's name: LL, LL128 or Simple.
func (p Proto) String() string { return protoNames[p] }

// ProtocolNames returns the names of AllProtocols.
func ProtocolNames() []string { return slices.Clone(protoNames[:]) }

// ParseProto parses a protocol's name, in any case, or returns an error that
// lists them.
func ParseProto(s string) (Proto, error) {
	for i, name := range protoNames {
		if strings.EqualFold(s, name) {
			return Proto(i), nil
		}
	}
	return 0, fmt.Errorf("unknown protocol %q: want one of %s", s, strings.Join(protoNames[:], ", "))
}

// Has reports whether the system has a protocol. One without constants it has not: the
// runtime does not run it there.
func (t *Topology) Has(p Proto) bool { return t.Protocols[p].Slots > 0 }

// HasProtocols lists the protocols that the system has, in order.
func (t *Topology) HasProtocols() []Proto {
	return slices.DeleteFunc(slices.Clone(AllProtocols[:]), func(p Proto) bool { return !t.Has(p) })
}

// CheckProtocol returns an error that lists the system's protocols if p is none of them.
func (t *Topology) CheckProtocol(p Proto) error {
	if t.Has(p) {
		return nil
	}
	return fmt.Errorf("%s has no %v: there is no [protocol.%v] in its file, as its runtime %s does not run it there; want one of %s", t.Name, p, p, t.Runtime, list(t.HasProtocols()))
}

// Protocol is the costs of one protocol on a system, the simulator's constants.
// docs/reference/simulator-rules.md has the rule for each. The zero value is a protocol that the system
// has not.
type Protocol struct {
	Launch units.Duration // fixed cost of a call
	Wire   float64        // bytes on the wire per byte of data (LL 2, LL128 16/15, Simple 1)
	// Packets is the bytes that links inside a node carry for each byte on the
	// wire, with headers and acknowledgements. 0 means 1.
	Packets float64       `json:",omitempty"`
	Slots   int           // primitive calls a connection holds (LL 8, LL128 8, Simple 2)
	Tile    units.Bytes   // the runtime's own tile
	Tiles   []units.Bytes // tiles worth trying, including Tile

	Latency    units.Duration // sent → visible to the receiver
	Credit     units.Duration // received → slot free at the sender
	SendCall   units.Duration // fixed cost of a send on its threadblock
	RecvCall   units.Duration // fixed cost of a receive on its threadblock
	Dep        units.Duration // waiting for a dependency
	Nop        units.Duration // for each further dependency of the same step
	NetLatency units.Duration // added when the path leaves the node

	// NetStart is what the host takes to start each connection of a GPU that leaves the
	// node, once a call, beyond the first.
	NetStart units.Duration `json:",omitempty"`
	// NetRate is the most wire bytes a second of a connection that leaves the node. 0
	// means no limit but the links'.
	NetRate units.Bandwidth `json:",omitempty"`
	// NetRendezvous is the least time that a message of more than NetEager wire bytes takes
	// on a connection that leaves the node: sender and receiver agree before it moves.
	NetRendezvous units.Duration `json:",omitempty"`
	NetEager      units.Bytes    `json:",omitempty"`

	// LL and LL128 move a message in passes.
	Pass     units.Bytes    // data of one pass of the whole threadblock
	SendPass units.Duration // unloaded time of a pass, sending
	RecvPass units.Duration // the same, receiving
	MinPass  units.Bytes    // a partial pass costs its share, but at least that of MinPass bytes

	// Simple moves slices of at least MinCopy at a rate.
	SendRate  units.Bandwidth
	RecvRate  units.Bandwidth
	SendSlice units.Duration // fence and post, after a slice
	RecvSlice units.Duration
	MinCopy   units.Bytes

	// Local work of every protocol.
	ReducePass units.Duration // one pass of 16 bytes a thread
	CopyPass   units.Duration `json:",omitempty"` // the same where nothing is reduced; 0: ReducePass
	ReduceCall units.Duration
	Threads    int // threads of a threadblock
	// Fused is the cost of a pass of a receiving and sending instruction, relative
	// to the longer of its two halves.
	Fused float64
}
