package compiler

import "github.com/colltune/colltune/compiler/internal/container"

// depths computes for every instruction its longest path from the start of the
// program and to its end, counted in instructions along waits and messages (GC3
// 5.2, steps 2 and 3). It ranks instructions by smaller depth first, then by
// larger height, then in traced order.
func depths(prog *program) error {
	prog.depth, prog.height = prog.pool.Take(len(prog.ins)), prog.pool.Take(len(prog.ins))
	both := [...]func(){
		func() { prog.computeDepths(prog.depth) },
		func() { prog.computeHeights(prog.height) },
	}
	container.Ranges(len(both), len(prog.ins), func(from, to int) {
		for _, measure := range both[from:to] {
			measure()
		}
	})
	prog.ranked = prog.rankByDepth(prog.depth, prog.height)
	if prog.opt.Dump == nil { // later passes use only the ranking; dumps print these
		prog.pool.Give(prog.depth, prog.height)
		prog.depth, prog.height = nil, nil
	}
	return nil
}

// computeDepths computes the longest path from the start to each instruction. A
// fused send counts one more than the receive it is part of, in case the two
// are split again.
func (prog *program) computeDepths(depth []int32) {
	for i := range prog.ins {
		if a := prog.alias[i]; int(a) != i {
			depth[i] = depth[a] + 1
			continue
		}
		d := int32(0)
		for _, p := range prog.preds.row(int32(i)) {
			d = max(d, depth[prog.alias[p]]+1)
		}
		if m := prog.ins[i].get; m != none {
			d = max(d, depth[prog.msgs[m].sender]+1)
		}
		depth[i] = d
	}
}

// computeHeights computes the longest path from each instruction to the end, in
// h, which is all zeros. A fused send has the height of the receive it is part
// of.
func (prog *program) computeHeights(h []int32) []int32 {
	for i := len(prog.ins) - 1; i >= 0; i-- {
		if !prog.live(int32(i)) {
			continue
		}
		for _, p := range prog.preds.row(int32(i)) {
			a := prog.alias[p]
			h[a] = max(h[a], h[i]+1)
		}
		if m := prog.ins[i].get; m != none {
			a := prog.msgs[m].sender
			h[a] = max(h[a], h[i]+1)
		}
	}
	for i := range h {
		h[i] = h[prog.alias[i]]
	}
	return h
}

// rankByDepth sorts the instructions by rising depth, then falling height, then
// index, with two counting sorts, of which the second is stable.
func (prog *program) rankByDepth(depth, height []int32) []int32 {
	byIndex, byHeight := prog.pool.Take(len(depth)), prog.pool.Take(len(depth))
	for i := range byIndex {
		byIndex[i] = int32(i)
	}
	tallest, deepest := int32(0), int32(0)
	for i, h := range height {
		tallest, deepest = max(tallest, h), max(deepest, depth[i])
	}
	countingSort(byHeight, byIndex, tallest, func(i int32) int32 { return tallest - height[i] })
	sorted := byIndex
	countingSort(sorted, byHeight, deepest, func(i int32) int32 { return depth[i] })
	prog.pool.Give(byHeight)
	return sorted
}

// countingSort sorts ids stably into another slice, by a key from 0 to largest.
func countingSort(into, ids []int32, largest int32, key func(int32) int32) {
	start := make([]int32, largest+2)
	for _, i := range ids {
		start[key(i)+1]++
	}
	for k := range largest + 1 {
		start[k+1] += start[k]
	}
	for _, i := range ids {
		k := key(i)
		into[start[k]] = i
		start[k]++
	}
}
