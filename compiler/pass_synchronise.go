package compiler

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/internal/container"
)

// maxClocks bounds the memory of the vector clocks, in 16-bit entries. For
// programs that exceed it, or have threadblocks of more steps than 16 bits can
// count, only the first two rules of synchronise are applied.
var maxClocks = 1 << 27

// Limits on the search for messages that imply a wait: threadblocks visited for
// one wait, and for all.
var (
	maxVisits      = 1 << 6
	maxTotalVisits = 1 << 22
)

// synchronise finds what each step must wait for explicitly (GC3 5.2): the waits
// between threadblocks of a rank that nothing else implies.
//
//	tb 0: 0 s  in[0] → 1
//	tb 1: 0 cpy in[1] → in[0]     waits for tb 0 step 0
//	      1 cpy in[2] → in[0]     waits for nothing: step 0 before it did
//
// A wait is implied
//   - by the threadblock's own order;
//   - by an earlier wait of the threadblock for that step or a later one;
//   - by what a step waited for had itself waited for;
//   - by messages: the step waited for, or a later one of its threadblock, sent a
//     message, and a chain of messages leads from its receiver to this step.
//
// Steps have vector clocks: for every threadblock of the rank, the number of
// its steps that are certainly complete when this step is. The last rule
// follows messages to the clocks of other ranks, within maxVisits and
// maxTotalVisits.
func synchronise(prog *program) error {
	waits := waitLists{of: prog.pool.Take(len(prog.ins))}
	if k := newVectorClocks(prog); k != nil {
		k.reduce(&waits)
		prog.pool.Give(k.at, k.storedAt, k.lastReceive)
	} else {
		prog.waitsByProgramOrder(&waits)
	}
	var at []int32 // order positions, once there is something to sort
	prog.waits = csr{start: append(prog.pool.Take(len(prog.ins) + 1)[:0], 0), list: make([]int32, 0, len(waits.list))}
	for i := range waits.of {
		row := waits.row(int32(i))
		if len(row) > 1 {
			if at == nil {
				at = prog.orderPositions()
			}
			slices.SortFunc(row, func(a, b int32) int { return cmp.Compare(at[a], at[b]) })
		}
		prog.waits.list = append(prog.waits.list, row...)
		prog.waits.end()
	}
	prog.pool.Give(waits.of, at)
	return nil
}

// waitLists holds the waits of instructions, in the order in which they are
// added.
type waitLists struct {
	of   []int32 // by instruction: the number of its row, from 1; 0 if it has no waits
	ends []int32 // by row
	list []int32
}

func (w *waitLists) add(i int32, waits []int32) {
	if len(waits) == 0 {
		return
	}
	w.list = append(w.list, waits...)
	w.ends = append(w.ends, int32(len(w.list)))
	w.of[i] = int32(len(w.ends))
}

func (w *waitLists) row(i int32) []int32 {
	switch n := w.of[i]; n {
	case 0:
		return nil
	case 1:
		return w.list[:w.ends[0]]
	default:
		return w.list[w.ends[n-2]:w.ends[n-1]]
	}
}

// crossWaits appends to list the instructions of other threadblocks that i
// depends on.
func (prog *program) crossWaits(i int32, list []int32) []int32 {
	for _, p := range prog.preds.row(i) {
		// A fused send depends only on the receive it is part of.
		if a := prog.alias[p]; prog.tbOf[a] != prog.tbOf[i] {
			list = append(list, a)
		}
	}
	return list
}

// waitsByProgramOrder applies the first two rules: of a threadblock's waits for
// another, it keeps those for a later step than all before.
func (prog *program) waitsByProgramOrder(waits *waitLists) {
	until := make([]int32, len(prog.tbs)) // by threadblock waited for: the number of steps known to be complete
	var touched, needed, list []int32
	for t := range prog.tbs {
		for _, x := range touched {
			until[x] = 0
		}
		touched = touched[:0]
		for _, i := range prog.tbs[t].steps {
			needed = prog.crossWaits(i, needed[:0])
			slices.SortFunc(needed, func(a, b int32) int { return cmp.Compare(prog.posOf[b], prog.posOf[a]) })
			list = list[:0]
			for _, p := range needed {
				if x := prog.tbOf[p]; until[x] <= prog.posOf[p] {
					if until[x] == 0 {
						touched = append(touched, x)
					}
					until[x] = prog.posOf[p] + 1
					list = append(list, p)
				}
			}
			waits.add(i, list)
		}
	}
}

// vectorClocks holds the clocks of the steps handled so far.
type vectorClocks struct {
	prog  *program
	first []int32  // by threadblock: the first threadblock of its rank
	start []int32  // by threadblock: index in at of its first step
	at    []int32  // by step: its position in the order
	width []int32  // by rank: number of its threadblocks
	now   []uint16 // by threadblock: its current clock, from off[tb]
	off   []int
	// A clock's entries for other threadblocks change only where the threadblock
	// waits, and are stored once for each change. The entry for its own
	// threadblock is out of date in a stored clock.
	blocks      [][]uint16 // in blocks of keptBlock
	storedAt    []int32    // by instruction: where its clock is in blocks
	last        []int32    // by threadblock: where its latest clock is stored; none if that has changed since
	used        int32      // end of the stored clocks in blocks
	lastReceive []int32    // by instruction: the last receive of its threadblock up to it, or none

	announced   []uint16 // by threadblock: number of its steps whose completion some message of its rank implies
	announcedAt []int32  // by threadblock: the stored clock that its latest message announced

	// State of implied, reset after each call.
	reached []int32 // by threadblock: number of steps found to be complete
	queued  []bool
	touched []int32
	queue   []int32
	since   int32 // position in the order of the step searched for
	budget  int   // threadblocks that may still be visited, over all calls
}

// clockBlock is the number of entries of a block. A clock with its newest
// position in front always fits: a rank with w threadblocks has at least w
// steps, and w² is at most maxClocks.
const clockBlock = 1 << 16

// newVectorClocks allocates the clocks. It returns nil if they would exceed a
// limit.
func newVectorClocks(prog *program) *vectorClocks {
	k := &vectorClocks{
		prog: prog, first: make([]int32, len(prog.tbs)), start: make([]int32, len(prog.tbs)+1),
		width: make([]int32, prog.col.Ranks), off: make([]int, len(prog.tbs)+1),
	}
	for r := range k.width {
		k.width[r] = prog.gpuTBs[r+1] - prog.gpuTBs[r]
	}
	total, longest := 0, 0
	for tb := range prog.tbs {
		k.first[tb] = prog.gpuTBs[prog.tbs[tb].rank]
		width := int(k.width[prog.tbs[tb].rank])
		k.off[tb+1] = k.off[tb] + width
		k.start[tb+1] = k.start[tb] + int32(len(prog.tbs[tb].steps))
		total += width * len(prog.tbs[tb].steps)
		longest = max(longest, len(prog.tbs[tb].steps))
	}
	if k.off[len(prog.tbs)]+total > maxClocks || longest > math.MaxUint16 {
		return nil
	}
	k.now = make([]uint16, k.off[len(prog.tbs)])
	k.at, k.storedAt, k.lastReceive = prog.pool.Take(len(prog.seq)), prog.pool.Take(len(prog.ins)), prog.pool.Take(len(prog.ins))
	k.last, k.announcedAt = fill(make([]int32, len(prog.tbs)), none), fill(make([]int32, len(prog.tbs)), none)
	k.announced = make([]uint16, len(prog.tbs))
	k.reached, k.queued, k.budget = make([]int32, len(prog.tbs)), make([]bool, len(prog.tbs)), maxTotalVisits
	container.Ranges(len(prog.seq), len(prog.seq), func(from, to int) {
		for at := from; at < to; at++ {
			i := prog.seq[at]
			k.at[k.start[prog.tbOf[i]]+prog.posOf[i]] = int32(at)
		}
	})
	container.Ranges(len(prog.tbs), len(prog.seq), func(from, to int) {
		for _, tb := range prog.tbs[from:to] {
			last := int32(none)
			for _, i := range tb.steps {
				if prog.ins[i].get != none {
					last = i
				}
				k.lastReceive[i] = last
			}
		}
	})
	return k
}

// reduce finds every instruction's waits, in the global order.
func (k *vectorClocks) reduce(waits *waitLists) {
	prog := k.prog
	var needed, list []int32
	for _, i := range prog.seq {
		needed = prog.crossWaits(i, needed[:0])
		// The latest first: its clock may cover the others.
		if len(needed) > 1 {
			slices.SortFunc(needed, func(a, b int32) int { return cmp.Compare(k.position(b), k.position(a)) })
		}
		list = list[:0]
		tb := prog.tbOf[i]
		clock, first := k.clockOf(tb), k.first[tb]
		for _, p := range needed {
			slot := prog.tbOf[p] - first
			if int32(clock[slot]) > prog.posOf[p] {
				continue // it is complete whenever i begins
			}
			if !k.implied(i, p) {
				list = append(list, p)
			}
			k.merge(clock, p, slot)
			k.last[tb] = none
		}
		waits.add(i, list)
		k.complete(i)
	}
}

func (k *vectorClocks) clockOf(tb int32) []uint16 { return k.now[k.off[tb]:k.off[tb+1]] }

func (k *vectorClocks) position(i int32) int32 { return k.at[k.start[k.prog.tbOf[i]]+k.prog.posOf[i]] }

// clockAfter returns the clock of step p when it was complete, except for the
// entry of its own threadblock.
func (k *vectorClocks) clockAfter(p int32) []uint16 {
	at, tb := k.storedAt[p], k.prog.tbOf[p]
	from := int(at % clockBlock)
	return k.blocks[at/clockBlock][from : from+k.off[tb+1]-k.off[tb]]
}

// newest returns the position in the order of the last step that clockAfter(p)
// covers.
func (k *vectorClocks) newest(p int32) int32 {
	at := k.storedAt[p]
	from := at % clockBlock
	head := k.blocks[at/clockBlock][from-newestWords : from]
	return int32(head[0])<<16 | int32(head[1])
}

// implied reports whether messages imply that p is complete when i begins. It
// starts from the steps in the clock of i's threadblock. The messages that
// these received imply that their senders are complete, with all in the
// senders' clocks; and so on, from rank to rank.
func (k *vectorClocks) implied(i, p int32) bool {
	prog := k.prog
	target := prog.tbOf[p]
	if k.budget <= 0 || int32(k.announced[target]) <= prog.posOf[p] {
		return false
	}
	defer k.resetReached()
	k.since = k.position(p)
	for slot, n := range k.clockOf(prog.tbOf[i]) {
		k.reach(k.first[prog.tbOf[i]]+int32(slot), int32(n))
	}
	// The message may still be arriving in parts. Of the instructions that pass it
	// on, only earlier steps are certainly complete.
	for x := i; prog.ins[x].get != none; {
		x = prog.msgs[prog.ins[x].get].sender
		k.reachAll(x)
		k.reach(prog.tbOf[x], prog.posOf[x])
	}
	for visits := maxVisits; len(k.queue) > 0 && visits > 0; visits-- {
		if k.reached[target] > prog.posOf[p] {
			return true
		}
		k.budget--
		tb := k.queue[len(k.queue)-1]
		k.queue = k.queue[:len(k.queue)-1]
		k.queued[tb] = false
		last := prog.tbs[tb].steps[k.reached[tb]-1]
		k.reachAll(last)
		if g := k.lastReceive[last]; g != none {
			s := prog.msgs[prog.ins[g].get].sender
			k.reach(prog.tbOf[s], prog.posOf[s]+1)
		}
	}
	return k.reached[target] > prog.posOf[p]
}

// reach records that n steps of a threadblock are complete. It ignores them if
// all come before p in the order, since they cannot depend on p.
func (k *vectorClocks) reach(tb, n int32) {
	if n <= k.reached[tb] || k.at[k.start[tb]+n-1] < k.since {
		return
	}
	if k.reached[tb] == 0 {
		k.touched = append(k.touched, tb)
	}
	k.reached[tb] = n
	if !k.queued[tb] {
		k.queued[tb] = true
		k.queue = append(k.queue, tb)
	}
}

// reachAll records the clock of x when it began, for the other threadblocks of
// its rank.
func (k *vectorClocks) reachAll(x int32) {
	own := k.prog.tbOf[x]
	first := k.first[own]
	if k.newest(x) < k.since {
		return // all of it is before p
	}
	for slot, n := range k.clockAfter(x) {
		if tb := first + int32(slot); tb != own {
			k.reach(tb, int32(n))
		}
	}
}

// resetReached clears the state of implied.
func (k *vectorClocks) resetReached() {
	for _, tb := range k.touched {
		k.reached[tb], k.queued[tb] = 0, false
	}
	k.touched, k.queue = k.touched[:0], k.queue[:0]
}

// merge adds to a clock that p is complete, and p's own clock. slot is the
// entry of p's threadblock.
func (k *vectorClocks) merge(clock []uint16, p, slot int32) {
	for s, n := range k.clockAfter(p) {
		clock[s] = max(clock[s], n)
	}
	clock[slot] = max(clock[slot], uint16(k.prog.posOf[p]+1))
}

func (k *vectorClocks) complete(i int32) {
	tb := k.prog.tbOf[i]
	c, own := k.clockOf(tb), tb-k.first[tb]
	c[own] = uint16(k.prog.posOf[i] + 1)
	if k.last[tb] == none {
		k.last[tb] = k.store(c, k.newestOf(tb))
	}
	k.storedAt[i] = k.last[tb]
	if k.prog.ins[i].put != none {
		k.announced[tb] = max(k.announced[tb], c[own])
		if k.announcedAt[tb] == k.last[tb] {
			return
		}
		k.announcedAt[tb] = k.last[tb]
		told := k.announced[k.first[tb]:]
		for slot, n := range c {
			told[slot] = max(told[slot], n)
		}
	}
}

// newestOf returns the position in the order of the last step of another
// threadblock that tb's clock covers.
func (k *vectorClocks) newestOf(tb int32) (newest int32) {
	for slot, n := range k.clockOf(tb) {
		if other := k.first[tb] + int32(slot); n > 0 && other != tb {
			newest = max(newest, k.at[k.start[other]+int32(n)-1])
		}
	}
	return newest
}

// newestWords is the number of entries that newest takes, in front of a stored
// clock.
const newestWords = 2

// store copies a clock to the blocks, with its newest position in front, and
// returns where it is.
func (k *vectorClocks) store(c []uint16, newest int32) (at int32) {
	if int(k.used)+newestWords+len(c) > len(k.blocks)*clockBlock {
		k.used = int32(len(k.blocks)) * clockBlock
		k.blocks = append(k.blocks, make([]uint16, clockBlock))
	}
	at = k.used + newestWords
	block := k.blocks[k.used/clockBlock][k.used%clockBlock:]
	block[0], block[1] = uint16(newest>>16), uint16(newest)
	copy(block[newestWords:], c)
	k.used = at + int32(len(c))
	return at
}
