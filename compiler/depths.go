package compiler

// depths measures every instruction's longest way from the start of the program
// and to its end, in instructions, along waits and messages (GC3 5.2, steps 2
// and 3), and ranks the instructions: the less deep first, of those the one with
// more still to come, of those the one traced first.
func depths(u *unit) error {
	both := [...]func(){
		func() { u.depth = u.fromStart() },
		func() { u.height = u.heights() },
	}
	sideBySide(len(both), len(u.ins), func(from, to int) {
		for _, measure := range both[from:to] {
			measure()
		}
	})
	u.ranked = rank(u.depth, u.height)
	return nil
}

// fromStart is the longest way from the start of the program, by instruction. A send
// that was fused is one further than what it is part of, should they be parted again.
func (u *unit) fromStart() []int32 {
	depth := make([]int32, len(u.ins))
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
	return depth
}

// heights is the longest way to the end of the program, by instruction. A send
// that was fused has that of what it is part of.
func (u *unit) heights() []int32 {
	h := make([]int32, len(u.ins))
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
func rank(depth, height []int32) []int32 {
	byIndex := make([]int32, len(depth))
	for i := range byIndex {
		byIndex[i] = int32(i)
	}
	tallest := int32(0)
	for _, h := range height {
		tallest = max(tallest, h)
	}
	sorted := countingSort(byIndex, tallest, func(i int32) int32 { return tallest - height[i] })
	deepest := int32(0)
	for _, d := range depth {
		deepest = max(deepest, d)
	}
	return countingSort(sorted, deepest, func(i int32) int32 { return depth[i] })
}

// countingSort sorts ids by a key of 0 to largest, stably.
func countingSort(ids []int32, largest int32, key func(int32) int32) []int32 {
	start := make([]int32, largest+2)
	for _, i := range ids {
		start[key(i)+1]++
	}
	for k := range largest + 1 {
		start[k+1] += start[k]
	}
	out := make([]int32, len(ids))
	for _, i := range ids {
		k := key(i)
		out[start[k]] = i
		start[k]++
	}
	return out
}
