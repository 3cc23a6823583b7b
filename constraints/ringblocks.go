package constraints

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// A ring need not pass through a whole node before it leaves it. Where a node's GPUs
// are joined well in blocks (by NVLink, two by two) and badly between the blocks (over
// PCIe), a ring that leaves after every block takes NICs in place of the bad links:
//
//	node 0    0━1  2━3    0━1 ─▶ 4━5 ─▶ 2━3 ─▶ 6━7
//	node 1    4━5  6━7     ▲                    │
//	                       ╰────────────────────╯
//
// It enters a node as often as that has blocks, where a ring as Rings finds them enters
// it once.

// mostBlockRanks limits the GPUs of a node: a step from each to each is looked at.
const mostBlockRanks = 256

// BlockRings are as many rings as asked for that leave a node after each of its
// blocks; nil where there are none. The blocks are the GPUs that steps of some
// bandwidth join, as many in each block, and each ring begins them one GPU further on
// than the one before. Of several ways to divide a node it takes the one whose
// narrowest step is widest (RingWidth), and of those the one with the fewest blocks.
func BlockRings(t *topologies.Topology, count int) (best [][]int) {
	n := 0
	for node := range t.Nodes {
		ranks := len(t.NodeRanks(node))
		if node > 0 && ranks != n {
			return nil
		}
		n = ranks
	}
	if t.Nodes < 2 || n < 2 || n > mostBlockRanks {
		return nil
	}
	var widest units.Bandwidth
	for _, blocks := range divisions(t, n) {
		if count > len(blocks[0]) {
			continue // two of the rings would be one
		}
		rings := make([][]int, count)
		for k := range rings {
			rings[k] = throughBlocks(t, blocks, k)
		}
		if w := RingWidth(t, rings); w > widest {
			best, widest = rings, w
		}
	}
	return best
}

// throughBlocks is a ring through the first block of every node, then through the
// second of every node, and so on, which begins each block at its GPU number first.
func throughBlocks(t *topologies.Topology, blocks [][]int, first int) (ring []int) {
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

// divisions are the ways to divide the n GPUs of a node into blocks of the same size,
// two or more: by what steps of each bandwidth join, and last into single GPUs. Those
// with fewer blocks come first.
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
	// The widest first: blocks only grow.
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(b.width, a.width) })
	block := upTo(n) // of each GPU: the least GPU of its block
	add := func() {
		if blocks := sameSize(block); len(blocks) > 1 && (len(all) == 0 || len(blocks) < len(all[0])) {
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

// stepWidth is what the narrowest link between two GPUs has; 0 where they aren't
// linked.
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

// sameSize lists the GPUs of each block; nil where one has more than another.
func sameSize(block []int) (blocks [][]int) {
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

// EntersOnce tells whether a ring passes through all of a node's GPUs before it leaves
// it, as the rings of vendors' libraries do.
func EntersOnce(t *topologies.Topology, ring []int) bool {
	entered := 0
	for i, r := range ring {
		if before := ring[(i+len(ring)-1)%len(ring)]; t.Ranks[r].Node != t.Ranks[before].Node {
			entered++
		}
	}
	return entered <= t.Nodes
}
