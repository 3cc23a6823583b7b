package rings

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// A ring need not pass through a whole node before leaving it. If a node's GPUs
// are connected well within blocks (pairs joined by NVLink) and poorly between
// blocks (over PCIe), a ring that leaves the node after every block uses NICs
// instead of the poor links:
//
//	node 0    0━1  2━3    0━1 ─▶ 4━5 ─▶ 2━3 ─▶ 6━7
//	node 1    4━5  6━7     ▲                    │
//	                       ╰────────────────────╯
//
// Such a ring enters a node once for each of its blocks, whereas the rings of
// Rings enter it once.

// maxBlockRanks limits the GPUs of a node, because every pair of them is examined.
const maxBlockRanks = 256

// Blocks is the divisions of a system's nodes into blocks: sets of GPUs of equal size
// that are connected by links of at least some bandwidth.
type Blocks struct {
	t         *topologies.Topology
	divisions [][][]int // by local position, fewest blocks first
}

// BlocksOf finds the divisions. There are none if the system has a single node, nodes
// of different sizes, or nodes of more than 256 GPUs.
func BlocksOf(t *topologies.Topology) *Blocks {
	b := &Blocks{t: t}
	n := 0
	for node := range t.Nodes {
		ranks := len(t.NodeRanks(node))
		if node > 0 && ranks != n {
			return b
		}
		n = ranks
	}
	if t.Nodes >= 2 && n >= 2 && n <= maxBlockRanks {
		b.divisions = divisions(t, n)
	}
	return b
}

// Rings returns count rings that leave a node after each of its blocks, as orders of
// all ranks, or nil if there are none. Each ring starts its blocks one GPU later than
// the ring before it. Of the possible divisions it takes one with the greatest
// Width, and of these the one with the fewest blocks.
func (b *Blocks) Rings(count int) (best [][]int) {
	var widest units.Bandwidth
	for _, blocks := range b.divisions {
		if count > len(blocks[0]) {
			continue // two of the rings would be equal
		}
		rings := make([][]int, count)
		for k := range rings {
			rings[k] = blockRing(b.t, blocks, k)
		}
		if w := Width(b.t, rings); w > widest {
			best, widest = rings, w
		}
	}
	return best
}

// blockRing returns the ring through the first block of every node, then the second
// block of every node, and so on. It starts each block at its GPU number first.
func blockRing(t *topologies.Topology, blocks [][]int, first int) (ring []int) {
	for _, block := range blocks {
		for node := range t.Nodes {
			ranks := t.NodeRanks(node)
			for i := range block {
				ring = append(ring, ranks[block[(first+i)%len(block)]])
			}
		}
	}
	return ring
}

// divisions lists the ways to divide the n GPUs of a node into two or more blocks
// of equal size, fewest blocks first: for each bandwidth, the sets connected by
// steps of at least that bandwidth, and finally single GPUs.
func divisions(t *topologies.Topology, n int) (all [][][]int) {
	ranks := t.NodeRanks(0)
	type step struct {
		from, to int
		width    units.Bandwidth
	}
	var steps []step
	for i, a := range ranks {
		for j, b := range ranks[:i] {
			w := min(stepWidth(t, a, b), stepWidth(t, b, a))
			if w > 0 {
				steps = append(steps, step{i, j, w})
			}
		}
	}
	// Widest first, so that blocks only grow.
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(b.width, a.width) })
	block := lists.UpTo(n) // union of blocks: the lowest GPU of each GPU's block
	add := func() {
		if blocks := equalBlocks(block); len(blocks) > 1 && (len(all) == 0 || len(blocks) < len(all[0])) {
			all = slices.Insert(all, 0, blocks)
		}
	}
	for i, s := range steps {
		if i == 0 || s.width < steps[i-1].width {
			add()
		}
		keep, drop := min(block[s.from], block[s.to]), max(block[s.from], block[s.to])
		for g := range block {
			if keep != drop && block[g] == drop {
				block[g] = keep
			}
		}
	}
	add()
	return all
}

// stepWidth returns the bandwidth of the narrowest link on the path between two GPUs,
// or 0 if they are not linked.
func stepWidth(t *topologies.Topology, from, to int) units.Bandwidth {
	path, ok := t.Path(from, to)
	if !ok || len(path.Edges) == 0 {
		return 0
	}
	w := t.Edges[path.Edges[0]].Bandwidth
	for _, e := range path.Edges[1:] {
		w = min(w, t.Edges[e].Bandwidth)
	}
	return w
}

// equalBlocks lists the GPUs of each block, or nil if blocks differ in size.
func equalBlocks(block []int) (blocks [][]int) {
	of := map[int]int{}
	for g, least := range block {
		i, ok := of[least]
		if !ok {
			i = len(blocks)
			of[least], blocks = i, append(blocks, nil)
		}
		blocks[i] = append(blocks[i], g)
	}
	if slices.ContainsFunc(blocks, func(b []int) bool { return len(b) != len(blocks[0]) }) {
		return nil
	}
	return blocks
}

// EntersOnce reports whether a ring, an order of all ranks, passes through all GPUs of
// a node before it leaves the node, as the rings of vendors' libraries do.
func EntersOnce(t *topologies.Topology, ring []int) bool {
	entered := 0
	for i, r := range ring {
		if before := ring[(i+len(ring)-1)%len(ring)]; t.Ranks[r].Node != t.Ranks[before].Node {
			entered++
		}
	}
	return entered <= t.Nodes
}
