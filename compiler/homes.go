package compiler

import "slices"

// Limits on the work of the pass: instructions of a program, and pairs of a local
// instruction and a threadblock it could go to. Larger programs keep the placement
// of pass threadblocks.
var (
	maxHomed  = 1 << 15
	maxLooked = 1 << 22
)

// waysHome are the criteria, besides idleness, for choosing the threadblock of a
// local instruction. Which is best depends on the program, so each is tried for
// the whole program and the estimates are compared.
//
//	tb 0 ← 1   r ──────── r            a copy of what tb 0 receives first: there it
//	tb 1 → 2       s                   waits for nobody, and the second message for
//	tb 2 → 3                 s         it; in tb 2 it waits for tb 0, and nobody for it
var waysHome = [...]struct {
	name string
	less []weight // terms of the cost to minimise
}{
	{"the shortest way to the end", []weight{way}},
	{"that, and the least work in all", []weight{way, work}},
	{"that, and the least from its first step to its last", []weight{way, span}},
	{"all of these", []weight{way, work, span}},
}

// weight is one term of the cost of placing an instruction in a threadblock where
// it would end at a given time.
type weight func(h *homing, i, tb int32, end int64) int64

// way is the longest path to the end of the program, either through the
// instruction or through the threadblock's next instruction, which it would delay.
func way(h *homing, i, tb int32, end int64) int64 {
	long := end + h.rest[i]
	if own := &h.own[tb]; own.done < len(own.fixed) {
		next := own.fixed[own.done]
		long = max(long, max(end, h.ready[next])+h.cost(next)+h.rest[next])
	}
	return long
}

// work is the total cost of the threadblock's instructions.
func work(h *homing, i, tb int32, _ int64) int64 { return h.own[tb].work + h.cost(i) }

// span is the time from the threadblock's first step to its last, including waits.
func span(h *homing, i, tb int32, end int64) int64 {
	own, from := &h.own[tb], end-h.cost(i)
	if own.ends > 0 {
		from = min(from, own.begins)
	}
	return max(own.ends, end) - from
}

// homing places local instructions in the global order while estimating when each
// instruction is done. A step costs its number of chunks plus a fixed part, which
// equals the average step's chunks. Waits and a message's latency cost as much as
// that fixed part.
type homing struct {
	u     *unit
	begin int64
	rest  []int64 // by instruction: longest path from its end to the program's, along waits, messages and threadblocks
	ready []int64 // by instruction: earliest start if local instructions delayed nobody
	ended []int64 // by instruction
	own   []owned // by threadblock
	first []owned // own as it is before local instructions are placed
}

// owned is the state of one threadblock.
type owned struct {
	fixed        []int32 // the instructions that its connections give it
	done         int     // how many of them have been placed
	free         int64   // when it has finished what was placed so far
	work         int64
	begins, ends int64 // time of its first step and of its last; 0 if there is none
}

// newHoming prepares the estimate for the instructions that have connections.
func newHoming(u *unit) *homing {
	h := &homing{
		u: u, rest: make([]int64, len(u.ins)), ready: make([]int64, len(u.ins)), ended: make([]int64, len(u.ins)),
		own: make([]owned, len(u.tbs)),
	}
	for _, i := range u.seq {
		h.begin += int64(u.ins[i].count)
	}
	h.begin = max(1, h.begin/int64(len(u.seq)))
	for _, i := range u.seq {
		tb := u.tbOf[i]
		if tb < 0 {
			h.ended[i] = h.after(i, tb) + h.cost(i)
			continue
		}
		own := &h.own[tb]
		h.ready[i] = max(own.free, h.after(i, tb))
		own.fixed = append(own.fixed, i)
		own.free = h.end(i, h.ready[i])
		own.ends, own.work = own.free, own.work+h.cost(i)
		h.ended[i] = own.free
	}
	for tb := range h.own {
		if own := &h.own[tb]; len(own.fixed) > 0 {
			own.begins = h.ready[own.fixed[0]]
		}
		h.own[tb].free = 0
	}
	h.first = slices.Clone(h.own)
	h.restOfAll()
	return h
}

// restOfAll fills in rest, from the last instruction to the first.
func (h *homing) restOfAll() {
	u := h.u
	next := filled(make([]int32, len(u.tbs)), none) // by threadblock
	for n := len(u.seq) - 1; n >= 0; n-- {
		i := u.seq[n]
		tb := u.tbOf[i]
		if tb >= 0 {
			if x := next[tb]; x != none {
				h.rest[i] = max(h.rest[i], h.cost(x)+h.rest[x])
			}
			next[tb] = i
		}
		all := h.cost(i) + h.rest[i]
		for _, p := range u.preds.row(i) {
			a := u.alias[p]
			h.rest[a] = max(h.rest[a], all+h.waiting(a, tb))
		}
		if m := u.ins[i].get; m != none {
			s := u.msgs[m].sender
			h.rest[s] = max(h.rest[s], h.begin+h.rest[i])
		}
	}
}

// cost is the cost of a step.
func (h *homing) cost(i int32) int64 { return h.begin + int64(h.u.ins[i].count) }

// waiting is the cost for threadblock tb of waiting for instruction a: none within
// the same threadblock.
func (h *homing) waiting(a, tb int32) int64 {
	if tb >= 0 && h.u.tbOf[a] == tb {
		return 0
	}
	return h.begin
}

// after is the time at which everything that instruction i waits for is available
// in threadblock tb.
func (h *homing) after(i, tb int32) (at int64) {
	u := h.u
	for _, p := range u.preds.row(i) {
		a := u.alias[p]
		at = max(at, h.ended[a]+h.waiting(a, tb))
	}
	if m := u.ins[i].get; m != none {
		s := u.msgs[m].sender
		at = max(at, h.ended[s]-h.cost(s)+h.begin)
	}
	return at
}

// end is when an instruction that begins at the given time is done, which is not
// before what it receives was sent.
func (h *homing) end(i int32, at int64) int64 {
	at += h.cost(i)
	if m := h.u.ins[i].get; m != none {
		at = max(at, h.ended[h.u.msgs[m].sender]+h.begin)
	}
	return at
}

// place appends instruction i to threadblock tb.
func (h *homing) place(i, tb int32) {
	own := &h.own[tb]
	end := h.end(i, max(own.free, h.after(i, tb)))
	if own.done < len(own.fixed) && own.fixed[own.done] == i {
		own.done++
	} else {
		own.work += h.cost(i)
		if begins := end - h.cost(i); own.ends == 0 || begins < own.begins {
			own.begins = begins
		}
	}
	own.free, own.ends = end, max(own.ends, end)
	h.u.tbOf[i], h.ended[i] = tb, end
}

// lightest finds the threadblock of i's instance with the least cost for a local
// instruction. Ties go to the one that ends it first, then to the one whose
// connection is used first.
func (h *homing) lightest(i int32, less []weight) (best int32) {
	u, in := h.u, &h.u.ins[i]
	key, own := u.ops[in.of].key, false
	var least, soonest int64
	best = none
	for tb := u.gpuTBs[in.rank]; tb < u.gpuTBs[in.rank+1]; tb++ {
		mine := u.keys == 1 || u.tbs[tb].key == key
		if own && !mine {
			continue
		}
		end, against := max(h.own[tb].free, h.after(i, tb))+h.cost(i), int64(0)
		for _, w := range less {
			against += w(h, i, tb, end)
		}
		if best == none || mine && !own || against < least ||
			against == least && (end < soonest || end == soonest && u.use(tb) < u.use(best)) {
			best, least, soonest, own = tb, against, end, mine
		}
	}
	return best
}

// homes moves local instructions away from the threadblocks that had been idle
// longest, if the program is estimated to become faster at some size and slower at
// none.
func homes(u *unit) error {
	if !u.worthHoming() {
		return nil
	}
	idlest := [2][]int32{u.tbOf, u.posOf}
	best, base, least := idlest, u.estimate(), 1.0
	fixed := u.homeless()
	u.tbOf = fixed
	h := newHoming(u)
	for _, w := range waysHome {
		u.tbOf, u.posOf = slices.Clone(fixed), slices.Clone(idlest[1])
		h.give(w.less)
		if slices.Equal(u.tbOf, best[0]) {
			continue
		}
		e := u.estimate()
		if ratio := e.against(&base); ratio < least {
			best, least = [2][]int32{u.tbOf, u.posOf}, ratio
		}
	}
	u.tbOf, u.posOf = best[0], best[1]
	if least < 1 {
		u.giveSteps()
	}
	return nil
}

// homeless is the assignment of instructions to threadblocks in which local ones
// have none yet.
func (u *unit) homeless() []int32 {
	tbOf := slices.Clone(u.tbOf)
	for _, i := range u.seq {
		if u.ins[i].local() {
			tbOf[i] = none
		}
	}
	return tbOf
}

// worthHoming tells whether there is a choice, and a feasible number of
// candidates.
func (u *unit) worthHoming() bool {
	if len(u.seq) > maxHomed {
		return false
	}
	looked := 0
	for _, i := range u.seq {
		if in := &u.ins[i]; in.local() {
			looked += int(u.gpuTBs[in.rank+1] - u.gpuTBs[in.rank])
		}
	}
	return looked > 0 && looked <= maxLooked
}

// give places every local instruction by the given cost.
func (h *homing) give(less []weight) {
	u := h.u
	copy(h.own, h.first)
	steps, reducer := make([]int32, len(u.tbs)), map[place]int32{}
	for _, i := range u.seq {
		tb := u.tbOf[i]
		if tb < 0 {
			tb = u.reducing(i, reducer, func() int32 { return h.lightest(i, less) })
		}
		h.place(i, tb)
		u.posOf[i] = steps[tb]
		steps[tb]++
	}
}
