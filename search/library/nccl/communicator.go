package nccl

import "slices"

// Path is a kind of way between devices, as NCCL orders them, the nearest first.
type Path int

// The paths: NVLink, NVLink by way of another GPU, between chips of a package, one PCIe switch,
// several, to a NIC over the processor's chip link, by way of another GPU's, over the processor's
// host bridge, between processors, and over the network.
const (
	PathLOC Path = iota
	PathNVL
	PathNVB
	PathC2C
	PathPIX
	PathPXB
	PathP2C
	PathPXN
	PathPHB
	PathSYS
	PathNET
)

// Pattern is what the search of a graph finds for rings, trees or heads of NVLS. Its channels are
// those before they are doubled for use.
type Pattern struct {
	Channels             int
	Intra, Inter         float32 // GB/s of a channel, inside a node and between nodes
	PathIntra, PathInter Path    // the farthest between GPUs, and from GPUs to NICs
	Same                 bool    // all channels go the same way
	LatencyUS            float32 // that the network says it has
}

// Communicator is what NCCL knows of a communicator as it chooses. The zero NVLS has no heads.
type Communicator struct {
	Ranks, Nodes         int // an NVLink domain over several hosts is one node
	LeastLocal           int // ranks of the node with the fewest, and with the most
	MostLocal            int
	OldestGPU, NewestGPU int     // compute capability: 90 of Hopper
	CPU                  string  // intel, amd, mixed (of both), arm or power; others count as none of them
	NetGBps              float32 // of a GPU's slowest NIC
	Switched             bool    // GPUs of a node meet at switches that reduce
	Ring, Tree, NVLS     Pattern
	PlainTree            bool // a node's traffic comes and goes by one GPU
	Channels             int  // of rings and trees, all copies counted
}

// generation is the row of the oldest GPU in tables.
func (c *Communicator) generation() generation {
	switch {
	case c.OldestGPU >= 100:
		return blackwell
	case c.OldestGPU >= 90:
		return hopper
	case c.OldestGPU >= 80:
		return ampere
	}
	return volta
}

// column is that of tables by nodes.
func (c *Communicator) column() int { return min(c.Nodes, 3) - 1 }

// x86 reports whether the processors are Intel's or AMD's, or not known.
func (c *Communicator) x86() bool { return c.CPU != "arm" && c.CPU != "power" }

// steps is how many parts of a call each rank sends in a ring.
func (c *Communicator) steps(collective string) int {
	switch collective {
	case "allreduce":
		return 2 * (c.Ranks - 1)
	case "allgather", "reducescatter":
		return c.Ranks - 1
	}
	return c.Ranks
}

// Communicator is the system as NCCL knows it.
func (s *System) Communicator() *Communicator {
	c := &Communicator{
		Ranks: s.n, Nodes: s.nodes, OldestGPU: s.arch.capability, NewestGPU: s.arch.capability, CPU: s.t.CPU,
		Switched: s.nvlink && s.switched(), PlainTree: s.graph.plain,
		Channels: min(2*s.graph.channels, maxChannels), // doubled after the search
	}
	if s.arch.generation >= hopper && s.nodes > 1 && s.graph.intra > 45 && c.Channels < 16 {
		c.Channels *= 2 // for nodes of fewer than eight GPUs (connect.cc, ncclTopoPostset)
	}
	local := make([]int, s.nodes)
	for node := range local {
		local[node] = len(s.t.NodeRanks(node))
	}
	c.LeastLocal, c.MostLocal = slices.Min(local), slices.Max(local)
	c.Ring = Pattern{Channels: s.graph.channels, Intra: float32(s.graph.intra), Inter: float32(s.graph.inter), PathIntra: PathPHB, Same: s.graph.same}
	if s.nvlink {
		c.Ring.PathIntra = PathNVL
	}
	if s.nodes > 1 {
		c.NetGBps = float32(slices.Min(s.nics()))
		c.Ring.PathInter = max(PathPIX, nicPaths[s.t.NICPath])
	}
	c.Tree, c.NVLS = c.Ring, c.Ring
	c.Tree.Intra = float32(s.graph.tree)
	c.NVLS.Channels, c.NVLS.Intra, c.NVLS.Inter = s.heads()
	return c
}

var nicPaths = map[string]Path{"pix": PathPIX, "pxb": PathPXB, "p2c": PathP2C, "pxn": PathPXN, "phb": PathPHB, "sys": PathSYS}
