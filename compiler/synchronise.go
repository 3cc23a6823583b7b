package compiler

import (
	"cmp"
	"slices"
)

// maxClocks bounds the memory that synchronise spends on knowing what is known.
const maxClocks = 1 << 27

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
	k := newKnowledge(u)
	u.waits = csr{start: make([]int32, len(u.ins)+1)}
	row := make([][2]int32, len(u.ins)) // by instruction: its waits in list, which is by order
	list := []int32{}
	var needed []int32
	for at, i := range u.seq {
		k.begin(i)
		needed = needed[:0]
		for part := i; part != none; part = nextPart(u, i, part) {
			for _, p := range u.preds.row(part) {
				if a := u.alias[p]; a != i && u.tbOf[a] != u.tbOf[i] {
					needed = append(needed, a)
				}
			}
		}
		// The latest first: it may know of the others.
		slices.SortFunc(needed, func(a, b int32) int { return cmp.Compare(k.at[b], k.at[a]) })
		from := int32(len(list))
		for _, p := range needed {
			if k.known(i, p) {
				continue
			}
			if !k.carried(i, p) {
				list = append(list, p)
			}
			k.learn(i, p)
		}
		row[i] = [2]int32{from, int32(len(list))}
		k.at[i] = int32(at)
		k.end(i)
	}
	u.waits.list = make([]int32, 0, len(list))
	for i := range u.ins {
		u.waits.list = append(u.waits.list, list[row[i][0]:row[i][1]]...)
		u.waits.start[i+1] = int32(len(u.waits.list))
	}
	for i := range u.ins {
		slices.SortFunc(u.waits.row(int32(i)), func(a, b int32) int { return cmp.Compare(u.tbOf[a], u.tbOf[b]) })
	}
	return nil
}

// nextPart walks the traced instructions that i stands for: itself and, fused,
// the send, which waits for nothing but i.
func nextPart(u *unit, i, part int32) int32 {
	if part == i {
		return u.ins[i].fused
	}
	return none
}

// knowledge is the clocks of the steps handled so far.
type knowledge struct {
	u      *unit
	at     []int32 // by instruction: its place in the order
	width  []int32 // by rank: its threadblocks
	now    []int32 // by threadblock: its clock, at off[tb]
	off    []int
	kept   []int32 // by instruction: its clock at keptAt, if all fit
	keptAt []int
	all    bool
	sender []int32 // by instruction: the first of its threadblock, from it on, that sends
}

func newKnowledge(u *unit) *knowledge {
	k := &knowledge{u: u, at: make([]int32, len(u.ins)), width: make([]int32, u.col.Ranks), off: make([]int, len(u.tbs)+1)}
	for r := range k.width {
		k.width[r] = u.gpuTBs[r+1] - u.gpuTBs[r]
	}
	for tb := range u.tbs {
		k.off[tb+1] = k.off[tb] + int(k.width[u.tbs[tb].rank])
	}
	k.now = make([]int32, k.off[len(u.tbs)])
	total := 0
	for tb := range u.tbs {
		total += int(k.width[u.tbs[tb].rank]) * len(u.tbs[tb].steps)
	}
	if k.all = total <= maxClocks; k.all {
		k.kept, k.keptAt = make([]int32, total), make([]int, len(u.ins))
		n := 0
		for _, i := range u.seq {
			k.keptAt[i] = n
			n += int(k.width[u.ins[i].rank])
		}
		k.sender = make([]int32, len(u.ins))
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
	}
	return k
}

// clock is what is known to be done when threadblock tb goes on.
func (k *knowledge) clock(tb int32) []int32 { return k.now[k.off[tb]:k.off[tb+1]] }

// after is what was known to be done when step p was, if that was kept.
func (k *knowledge) after(p int32) []int32 {
	n := k.keptAt[p]
	return k.kept[n : n+int(k.width[k.u.ins[p].rank])]
}

// slot is the place of p's threadblock in the clocks of its rank.
func (k *knowledge) slot(p int32) int32 { return k.u.tbOf[p] - k.u.gpuTBs[k.u.ins[p].rank] }

func (k *knowledge) begin(int32) {}

// known tells whether p is done whenever i begins.
func (k *knowledge) known(i, p int32) bool {
	return k.clock(k.u.tbOf[i])[k.slot(p)] > k.u.posOf[p]
}

// carried tells whether the message that i receives implies that p is done: p,
// or a later step of its threadblock, sent one that its receiver had taken when
// i's was sent.
func (k *knowledge) carried(i, p int32) bool {
	u := k.u
	if !k.all || u.ins[i].get == none || k.sender[p] == none {
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
	if k.all {
		for s, n := range k.after(p) {
			c[s] = max(c[s], n)
		}
	}
	c[k.slot(p)] = max(c[k.slot(p)], k.u.posOf[p]+1)
}

// end notes that i is done.
func (k *knowledge) end(i int32) {
	c := k.clock(k.u.tbOf[i])
	c[k.slot(i)] = k.u.posOf[i] + 1
	if k.all {
		copy(k.after(i), c)
	}
}
