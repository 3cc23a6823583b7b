package compiler

import (
	"cmp"
	"slices"
)

// maxClocks bounds the memory that synchronise spends on knowing what is known.
// Past it only the first two of its rules are applied.
var maxClocks = 1 << 27

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
//   - by a message: the step waited for sent one, whose receiver had taken it
//     before it sent the one that arrives now.
//
// A step's clock is the number of steps of every threadblock of its rank that
// are known to be done when it is. The last rule looks one rank away and no
// further.
func synchronise(u *unit) error {
	waits := make([][]int32, len(u.ins)) // by instruction: slices of lists that are filled once
	if k := newKnowledge(u); k != nil {
		k.reduce(waits)
	} else {
		u.lastWaits(waits)
	}
	u.waits = newCSR(len(u.ins))
	for i := range waits {
		slices.SortFunc(waits[i], func(a, b int32) int { return cmp.Compare(u.tbOf[a], u.tbOf[b]) })
		u.waits.list = append(u.waits.list, waits[i]...)
		u.waits.end()
	}
	return nil
}

// across appends to list what i waits for in other threadblocks.
func (u *unit) across(i int32, list []int32) []int32 {
	for _, p := range u.preds.row(i) {
		// A send that was fused waits for nothing but what it is part of.
		if a := u.alias[p]; u.tbOf[a] != u.tbOf[i] {
			list = append(list, a)
		}
	}
	return list
}

// lastWaits keeps of every threadblock's waits for another those that are for a
// later step than all before.
func (u *unit) lastWaits(waits [][]int32) {
	until := make([]int32, len(u.tbs)) // by threadblock waited for: the steps known done
	var touched, needed, list []int32
	for t := range u.tbs {
		for _, x := range touched {
			until[x] = 0
		}
		touched = touched[:0]
		for _, i := range u.tbs[t].steps {
			needed = u.across(i, needed[:0])
			slices.SortFunc(needed, func(a, b int32) int { return cmp.Compare(u.posOf[b], u.posOf[a]) })
			from := len(list)
			for _, p := range needed {
				if x := u.tbOf[p]; until[x] <= u.posOf[p] {
					if until[x] == 0 {
						touched = append(touched, x)
					}
					until[x] = u.posOf[p] + 1
					list = append(list, p)
				}
			}
			waits[i] = list[from:len(list):len(list)]
		}
	}
}

// knowledge is the clocks of the steps handled so far.
type knowledge struct {
	u      *unit
	at     []int32 // by instruction: its place in the order
	width  []int32 // by rank: its threadblocks
	now    []int32 // by threadblock: its clock, at off[tb]
	off    []int
	kept   []int32 // by instruction: its clock when it was done, at keptAt
	keptAt []int
	sender []int32 // by instruction: the first of its threadblock, from it on, that sends
}

// newKnowledge makes room for the clocks; it is nil if that would be too much.
func newKnowledge(u *unit) *knowledge {
	k := &knowledge{u: u, width: make([]int32, u.col.Ranks), off: make([]int, len(u.tbs)+1)}
	for r := range k.width {
		k.width[r] = u.gpuTBs[r+1] - u.gpuTBs[r]
	}
	total := 0
	for tb := range u.tbs {
		width := int(k.width[u.tbs[tb].rank])
		k.off[tb+1] = k.off[tb] + width
		total += width * len(u.tbs[tb].steps)
	}
	if k.off[len(u.tbs)]+total > maxClocks {
		return nil
	}
	k.now, k.kept = make([]int32, k.off[len(u.tbs)]), make([]int32, total)
	k.at, k.keptAt, k.sender = make([]int32, len(u.ins)), make([]int, len(u.ins)), make([]int32, len(u.ins))
	n := 0
	for at, i := range u.seq {
		k.at[i], k.keptAt[i] = int32(at), n
		n += int(k.width[u.ins[i].rank])
	}
	for tb := range u.tbs {
		next := int32(none)
		steps := u.tbs[tb].steps
		for s := len(steps) - 1; s >= 0; s-- {
			if u.ins[steps[s]].put != none {
				next = steps[s]
			}
			k.sender[steps[s]] = next
		}
	}
	return k
}

// reduce finds every instruction's waits, in the global order.
func (k *knowledge) reduce(waits [][]int32) {
	u := k.u
	var needed, list []int32
	for _, i := range u.seq {
		needed = u.across(i, needed[:0])
		// The latest first: it may know of the others.
		slices.SortFunc(needed, func(a, b int32) int { return cmp.Compare(k.at[b], k.at[a]) })
		from := len(list)
		for _, p := range needed {
			if k.known(i, p) {
				continue
			}
			if !k.carried(i, p) {
				list = append(list, p)
			}
			k.learn(i, p)
		}
		waits[i] = list[from:len(list):len(list)]
		k.end(i)
	}
}

// clock is what is known to be done when threadblock tb goes on.
func (k *knowledge) clock(tb int32) []int32 { return k.now[k.off[tb]:k.off[tb+1]] }

// after is what was known to be done when step p was.
func (k *knowledge) after(p int32) []int32 {
	n := k.keptAt[p]
	return k.kept[n : n+int(k.width[k.u.ins[p].rank])]
}

// slot is the place of p's threadblock in the clocks of its rank.
func (k *knowledge) slot(p int32) int32 { return k.u.tbOf[p] - k.u.gpuTBs[k.u.ins[p].rank] }

// known tells whether p is done whenever i begins.
func (k *knowledge) known(i, p int32) bool {
	return k.clock(k.u.tbOf[i])[k.slot(p)] > k.u.posOf[p]
}

// carried tells whether the message that i receives implies that p is done: p,
// or a later step of its threadblock, sent one that its receiver had taken when
// i's was sent.
func (k *knowledge) carried(i, p int32) bool {
	u := k.u
	if u.ins[i].get == none || k.sender[p] == none {
		return false
	}
	from := u.msgs[u.ins[i].get].sender
	y := u.msgs[u.ins[k.sender[p]].put].receiver
	if u.ins[y].rank != u.ins[from].rank {
		return false
	}
	return k.at[y] < k.at[from] && k.doneBefore(y, from)
}

// doneBefore tells whether y, of the same rank, is done when x has sent. That y
// is x itself does not count: it takes and sends at once, but part by part.
func (k *knowledge) doneBefore(y, x int32) bool {
	return y != x && k.after(x)[k.slot(y)] > k.u.posOf[y]
}

// learn adds to i's threadblock's clock that p is done.
func (k *knowledge) learn(i, p int32) {
	c := k.clock(k.u.tbOf[i])
	for s, n := range k.after(p) {
		c[s] = max(c[s], n)
	}
}

// end notes that i is done.
func (k *knowledge) end(i int32) {
	c := k.clock(k.u.tbOf[i])
	c[k.slot(i)] = k.u.posOf[i] + 1
	copy(k.after(i), c)
}
