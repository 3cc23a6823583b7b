package compiler

// depths measures every instruction's longest way from the start of the program
// and to its end, in instructions, along waits and messages (GC3 5.2, steps 2
// and 3), and ranks the instructions: the less deep first, of those the one with
// more still to come, of those the one traced first.
func depths(u *unit) error {
	u.depth, u.height = u.room.take(len(u.ins)), u.room.take(len(u.ins))
	both := [...]func(){
		func() { u.fromStart(u.depth) },
		func() { u.heights(u.height) },
	}
	sideBySide(len(both), len(u.ins), func(from, to int) {
		for _, measure := range both[from:to] {
			measure()
		}
	})
	u.ranked = u.rank(u.depth, u.height)
	if u.opt.Dump == nil { // nobody asks for them again
		u.room.give(u.depth, u.height)
		u.depth, u.height = nil, nil
	}
	return nil
}

// fromStart measures the longest way from the start of the program, by instruction. A
// send that was fused is one further than what it is part of, should they be parted again.
func (u *unit) fromStart(depth []int32) {
	for i := range u.ins {
		if a := u.alias[i]; int(a) != i {
			depth[i] = depth[a] + 1
			continue
		}
		d := int32(0)
		for _, p := range u.preds.row(int32(i)) {
			d = max(d, depth[u.alias[p]]+1)
		}
		if m := u.ins[i].get; m != none {
			d = max(d, depth[u.msgs[m].sender]+1)
		}
		depth[i] = d
	}
}

// heights measures the longest way to the end of the program, by instruction, in h,
// which is zeros before. A send that was fused has that of what it is part of.
func (u *unit) heights(h []int32) []int32 {
	for i := len(u.ins) - 1; i >= 0; i-- {
		if !u.live(int32(i)) {
			continue
		}
		for _, p := range u.preds.row(int32(i)) {
			a := u.alias[p]
			h[a] = max(h[a], h[i]+1)
		}
		if m := u.ins[i].get; m != none {
			a := u.msgs[m].sender
			h[a] = max(h[a], h[i]+1)
		}
	}
	for i := range h {
		h[i] = h[u.alias[i]]
	}
	return h
}

// rank sorts the instructions by rising depth, then falling height, then index: two
// counting sorts, the second stable.
func (u *unit) rank(depth, height []int32) []int32 {
	byIndex, byHeight := u.room.take(len(depth)), u.room.take(len(depth))
	for i := range byIndex {
		byIndex[i] = int32(i)
	}
	tallest := int32(0)
	for _, h := range height {
		tallest = max(tallest, h)
	}
	countingSort(byHeight, byIndex, tallest, func(i int32) int32 { return tallest - height[i] })
	deepest := int32(0)
	for _, d := range depth {
		deepest = max(deepest, d)
	}
	sorted := byIndex
	countingSort(sorted, byHeight, deepest, func(i int32) int32 { return depth[i] })
	u.room.give(byHeight)
	return sorted
}

// countingSort sorts ids by a key of 0 to largest, stably, into another slice.
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
