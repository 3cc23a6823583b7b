package compiler

import "slices"

// Limits on the work of the pass: instructions of a program, and pairs of a
// local instruction and a threadblock it could go to. Larger programs keep the
// placement of pass threadblocks.
var (
	maxPlacedInstructions = 1 << 15
	maxPlacements         = 1 << 22
)

// placementCriteria are the criteria, besides idleness, for choosing the
// threadblock of a local instruction (list scheduling). Which is best depends
// on the program, so each is tried for the whole program and the estimates are
// compared.
//
//	tb 0 ← 1   r ──────── r            A copy of the first message that tb 0 receives:
//	tb 1 → 2       s                   in tb 0 it waits for no one, but delays the second
//	tb 2 → 3                 s         message; in tb 2 it waits for tb 0, but delays no one.
var placementCriteria = [...]struct {
	name string
	less []criterion // terms of the cost to minimise
}{
	{"the shortest path to the end", []criterion{longestPath}},
	{"that, and the least work in all", []criterion{longestPath, totalWork}},
	{"that, and the least from its first step to its last", []criterion{longestPath, span}},
	{"all of these", []criterion{longestPath, totalWork, span}},
}

// criterion is one term of the cost of placing instruction i in threadblock tb,
// where it would finish at time end.
type criterion func(h *localPlacer, i, tb int32, end int64) int64

// longestPath is the longest path to the end of the program, either through the
// instruction or through the threadblock's next instruction, which it delays.
func longestPath(h *localPlacer, i, tb int32, end int64) int64 {
	long := end + h.toEnd[i]
	if own := &h.tbs[tb]; own.done < len(own.fixed) {
		next := own.fixed[own.done]
		long = max(long, max(end, h.earliest[next])+h.cost(next)+h.toEnd[next])
	}
	return long
}

func totalWork(h *localPlacer, i, tb int32, _ int64) int64 { return h.tbs[tb].work + h.cost(i) }

// span returns the time from the threadblock's first step to its last,
// including waits.
func span(h *localPlacer, i, tb int32, end int64) int64 {
	own, from := &h.tbs[tb], end-h.cost(i)
	if own.ends > 0 {
		from = min(from, own.begins)
	}
	return max(own.ends, end) - from
}

// localPlacer places local instructions in the global order while estimating
// when each instruction finishes, in units of chunks. A step costs its number
// of chunks plus a fixed overhead, which equals the average step's chunks. A
// wait costs as much as that overhead, and so does a message's latency.
type localPlacer struct {
	prog     *program
	overhead int64
	toEnd    []int64   // by instruction: longest path from its end to the program's, along waits, messages and threadblocks
	earliest []int64   // by instruction: earliest start if local instructions occupied no threadblock
	ended    []int64   // by instruction: when it finishes
	tbs      []tbState // by threadblock
	initial  []tbState // tbs before local instructions are placed
	byUse    func(a, b *threadblock) int
}

type tbState struct {
	fixed        []int32 // the instructions with connections, which are placed already
	done         int     // how many of fixed have been passed
	free         int64   // when it finishes the instructions placed so far
	work         int64
	begins, ends int64 // start of its first step and end of its last; 0 if it has none
}

// newLocalPlacer estimates the instructions with connections.
func newLocalPlacer(prog *program) *localPlacer {
	h := &localPlacer{
		prog: prog, toEnd: make([]int64, len(prog.ins)), earliest: make([]int64, len(prog.ins)), ended: make([]int64, len(prog.ins)),
		tbs: make([]tbState, len(prog.tbs)), byUse: prog.byUse(),
	}
	for _, i := range prog.seq {
		h.overhead += int64(prog.ins[i].count)
	}
	h.overhead = max(1, h.overhead/int64(len(prog.seq)))
	for _, i := range prog.seq {
		tb := prog.tbOf[i]
		if tb < 0 {
			h.ended[i] = h.readyTime(i, tb) + h.cost(i)
			continue
		}
		own := &h.tbs[tb]
		h.earliest[i] = max(own.free, h.readyTime(i, tb))
		own.fixed = append(own.fixed, i)
		own.free = h.finishTime(i, h.earliest[i])
		own.ends, own.work = own.free, own.work+h.cost(i)
		h.ended[i] = own.free
	}
	for tb := range h.tbs {
		if own := &h.tbs[tb]; len(own.fixed) > 0 {
			own.begins = h.earliest[own.fixed[0]]
		}
		h.tbs[tb].free = 0
	}
	h.initial = slices.Clone(h.tbs)
	h.computeToEnd()
	return h
}

// computeToEnd fills in toEnd, from the last instruction to the first.
func (h *localPlacer) computeToEnd() {
	prog := h.prog
	next := fill(make([]int32, len(prog.tbs)), none) // by threadblock
	for n := len(prog.seq) - 1; n >= 0; n-- {
		i := prog.seq[n]
		tb := prog.tbOf[i]
		if tb >= 0 {
			if x := next[tb]; x != none {
				h.toEnd[i] = max(h.toEnd[i], h.cost(x)+h.toEnd[x])
			}
			next[tb] = i
		}
		all := h.cost(i) + h.toEnd[i]
		for _, p := range prog.preds.row(i) {
			a := prog.alias[p]
			h.toEnd[a] = max(h.toEnd[a], all+h.waitCost(a, tb))
		}
		if m := prog.ins[i].get; m != none {
			s := prog.msgs[m].sender
			h.toEnd[s] = max(h.toEnd[s], h.overhead+h.toEnd[i])
		}
	}
}

func (h *localPlacer) cost(i int32) int64 { return h.overhead + int64(h.prog.ins[i].count) }

// waitCost returns the cost for threadblock tb of waiting for instruction a: 0
// within the same threadblock.
func (h *localPlacer) waitCost(a, tb int32) int64 {
	if tb >= 0 && h.prog.tbOf[a] == tb {
		return 0
	}
	return h.overhead
}

// readyTime returns when all dependencies of instruction i are complete for
// threadblock tb.
func (h *localPlacer) readyTime(i, tb int32) (at int64) {
	prog := h.prog
	for _, p := range prog.preds.row(i) {
		a := prog.alias[p]
		at = max(at, h.ended[a]+h.waitCost(a, tb))
	}
	if m := prog.ins[i].get; m != none {
		s := prog.msgs[m].sender
		at = max(at, h.ended[s]-h.cost(s)+h.overhead)
	}
	return at
}

// finishTime returns when instruction i finishes if it begins at the given
// time. A receive does not finish before its message has arrived.
func (h *localPlacer) finishTime(i int32, at int64) int64 {
	at += h.cost(i)
	if m := h.prog.ins[i].get; m != none {
		at = max(at, h.ended[h.prog.msgs[m].sender]+h.overhead)
	}
	return at
}

// place appends instruction i to threadblock tb.
func (h *localPlacer) place(i, tb int32) {
	own := &h.tbs[tb]
	end := h.finishTime(i, max(own.free, h.readyTime(i, tb)))
	if own.done < len(own.fixed) && own.fixed[own.done] == i {
		own.done++
	} else {
		own.work += h.cost(i)
		if begins := end - h.cost(i); own.ends == 0 || begins < own.begins {
			own.begins = begins
		}
	}
	own.free, own.ends = end, max(own.ends, end)
	h.prog.tbOf[i], h.ended[i] = tb, end
}

// cheapest returns the threadblock of i's instance with the least cost for a
// local instruction. Ties go to the one that finishes it first, then to the one
// whose connection is used first.
func (h *localPlacer) cheapest(i int32, less []criterion) (best int32) {
	prog, in := h.prog, &h.prog.ins[i]
	key, own := prog.ops[in.of].instance, false
	var least, soonest int64
	best = none
	for tb := prog.gpuTBs[in.rank]; tb < prog.gpuTBs[in.rank+1]; tb++ {
		mine := prog.instances == 1 || prog.tbs[tb].instance == key
		if own && !mine {
			continue
		}
		end, against := max(h.tbs[tb].free, h.readyTime(i, tb))+h.cost(i), int64(0)
		for _, w := range less {
			against += w(h, i, tb, end)
		}
		if best == none || mine && !own || against < least ||
			against == least && (end < soonest || end == soonest && h.byUse(&prog.tbs[tb], &prog.tbs[best]) < 0) {
			best, least, soonest, own = tb, against, end, mine
		}
	}
	return best
}

// placeLocal moves local instructions away from the threadblocks that had been
// idle longest, if the program is estimated to become faster at some size, and
// at no size slower than maxLossDivisor allows.
func placeLocal(prog *program) error {
	if !prog.worthPlacing() {
		return nil
	}
	idlest := [2][]int32{prog.tbOf, prog.posOf}
	best, base, least := idlest, prog.estimate(), 1.0
	fixed := prog.withoutLocal()
	prog.tbOf = fixed
	h := newLocalPlacer(prog)
	for _, w := range placementCriteria {
		prog.tbOf, prog.posOf = slices.Clone(fixed), slices.Clone(idlest[1])
		h.placeAll(w.less)
		if slices.Equal(prog.tbOf, best[0]) {
			continue
		}
		e := prog.estimate()
		if ratio := e.ratioTo(&base); ratio < least {
			best, least = [2][]int32{prog.tbOf, prog.posOf}, ratio
		}
	}
	prog.tbOf, prog.posOf = best[0], best[1]
	if least < 1 {
		prog.listSteps()
	}
	return nil
}

// withoutLocal returns the threadblocks of instructions, with none for local
// ones.
func (prog *program) withoutLocal() []int32 {
	tbOf := slices.Clone(prog.tbOf)
	for _, i := range prog.seq {
		if prog.ins[i].local() {
			tbOf[i] = none
		}
	}
	return tbOf
}

// worthPlacing reports whether there is a choice, and a feasible number of
// candidates.
func (prog *program) worthPlacing() bool {
	if len(prog.seq) > maxPlacedInstructions {
		return false
	}
	looked := 0
	for _, i := range prog.seq {
		if in := &prog.ins[i]; in.local() {
			looked += int(prog.gpuTBs[in.rank+1] - prog.gpuTBs[in.rank])
		}
	}
	return looked > 0 && looked <= maxPlacements
}

// placeAll places every local instruction where the sum of the criteria is
// least.
func (h *localPlacer) placeAll(less []criterion) {
	prog := h.prog
	copy(h.tbs, h.initial)
	steps, reducer := make([]int32, len(prog.tbs)), map[place]int32{}
	for _, i := range prog.seq {
		tb := prog.tbOf[i]
		if tb < 0 {
			tb = prog.reducerTB(i, reducer, func() int32 { return h.cheapest(i, less) })
		}
		h.place(i, tb)
		prog.posOf[i] = steps[tb]
		steps[tb]++
	}
}
