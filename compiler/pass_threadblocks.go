package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/ir"
)

// threadblocks creates the threadblocks and assigns every instruction to one, in
// the global order (GC3 5.2, steps 1 and 5).
//
//	rcs ← 0 → 2 ch 0    the threadblock of (send 2, receive 0, channel 0)
//	s → 2 ch 0          the same, which owns the connection
//	s → 3 ch 0          the threadblock of (send 3, channel 0)
//	cpy                 the one of its instance that has been idle longest; pass
//	                    place local may find a better one
//	re                  the one that reduced into the same place before, so that
//	                    a run of reductions needs no waits in between
//
// Pass channels ensures that each connection is in at most one pair. A rank
// that neither sends nor receives gets a threadblock for its local instructions.
func threadblocks(prog *program) error {
	putTB, getTB := prog.createThreadblocks()
	prog.sortThreadblocks(putTB, getTB)
	prog.needs = 0
	for r := range prog.col.Ranks {
		prog.needs = max(prog.needs, int(prog.gpuTBs[r+1]-prog.gpuTBs[r]))
	}
	if most := prog.opt.MaxThreadblocks; most > 0 {
		if err := prog.mergeToLimit(int32(most)); err != nil {
			return err
		}
		prog.sortThreadblocks(putTB, getTB)
	}

	prog.assignInstructions(putTB, getTB)
	prog.listSteps()
	return nil
}

// assignInstructions assigns every instruction to a threadblock, rank by rank.
func (prog *program) assignInstructions(putTB, getTB []int32) {
	prog.tbOf, prog.posOf = prog.pool.Take(len(prog.ins)), prog.pool.Take(len(prog.ins))
	// First the instructions with connections, in any order. A local instruction
	// is marked with its rank, as -1 - rank, for later.
	container.Ranges(len(prog.ins), len(prog.ins), func(from, to int) {
		for i := from; i < to; i++ {
			switch in := &prog.ins[i]; {
			case in.put != none:
				prog.tbOf[i] = putTB[prog.msgs[in.put].conn]
			case in.get != none:
				prog.tbOf[i] = getTB[prog.msgs[in.get].conn]
			default:
				prog.tbOf[i] = -1 - in.rank
			}
		}
	})
	var idle *idleTracker // needed only if an instruction is local
	var local []int32     // by local instruction: its threadblock
	if slices.ContainsFunc(prog.tbOf, func(tb int32) bool { return tb < 0 }) {
		idle, local = newIdleTracker(prog), prog.pool.Take(len(prog.ins))
	}
	steps, parts := make([]int32, len(prog.tbs)), min(prog.col.Ranks, maxWalks)
	container.Ranges(parts, len(prog.seq), func(from, to int) {
		from, to = from*prog.col.Ranks/parts, to*prog.col.Ranks/parts
		first, end := prog.gpuTBs[from], prog.gpuTBs[to]
		reducer := map[place]int32{} // the threadblock that last reduced into a place
		for now, i := range prog.seq {
			tb := prog.tbOf[i]
			switch {
			case tb >= 0:
				if tb < first || tb >= end {
					continue
				}
			case -1-tb < int32(from) || -1-tb >= int32(to):
				continue
			default:
				tb = prog.reducerTB(i, reducer, func() int32 { return idle.longestIdle(prog.ins[i].rank, prog.ops[prog.ins[i].of].instance) })
				local[i] = tb // not yet into tbOf, which other goroutines are reading
			}
			prog.posOf[i] = steps[tb]
			steps[tb]++
			if idle != nil {
				idle.since[tb] = int32(now)
			}
		}
	})
	if idle == nil {
		return
	}
	container.Ranges(len(prog.ins), len(prog.ins), func(from, to int) {
		for i := from; i < to; i++ {
			if prog.tbOf[i] < 0 {
				prog.tbOf[i] = local[i]
			}
		}
	})
	prog.pool.Give(local)
}

// maxWalks limits the number of parallel parts, since every part walks the
// whole order.
const maxWalks = 4

// reducerTB returns the threadblock for a local instruction: the one that last
// reduced into the same place for its instance, or else the one that choose
// returns.
func (prog *program) reducerTB(i int32, reducer map[place]int32, choose func() int32) int32 {
	in := &prog.ins[i]
	if in.op != ir.Reduce {
		return choose()
	}
	at := place{in.rank, prog.ops[in.of].instance, in.dstOff, in.dstStride, in.count, in.dstBuf}
	tb, again := reducer[at]
	if !again {
		tb = choose()
		reducer[at] = tb
	}
	return tb
}

// listSteps lists each threadblock's instructions, as parts of one slice.
func (prog *program) listSteps() {
	start := make([]int32, len(prog.tbs)+1)
	for i, tb := range prog.tbOf {
		if prog.live(int32(i)) {
			start[tb+1]++
		}
	}
	for tb := range prog.tbs {
		start[tb+1] += start[tb]
	}
	steps := prog.pool.Take(len(prog.seq))
	container.Ranges(len(prog.ins), len(prog.ins), func(from, to int) {
		for i := int32(from); i < int32(to); i++ {
			if prog.live(i) {
				steps[start[prog.tbOf[i]]+prog.posOf[i]] = i
			}
		}
	})
	for tb := range prog.tbs {
		prog.tbs[tb].steps = steps[start[tb]:start[tb+1]:start[tb+1]]
	}
}

// place is a run of chunks of a rank's buffer, as used by one instance.
type place struct {
	rank, instance, off, stride, count int32
	buf                                collective.Buffer
}

// createThreadblocks creates the threadblocks: one for every pair of
// connections that a fused instruction uses, and one for every other
// connection. It returns for each connection the threadblock that sends on it
// and the one that receives.
func (prog *program) createThreadblocks() (putTB, getTB []int32) {
	putTB, getTB = fill(make([]int32, len(prog.conns)), none), fill(make([]int32, len(prog.conns)), none)
	prog.tbs = make([]threadblock, 0, 2*len(prog.conns)+prog.col.Ranks)
	create := func(rank, put, get, key int32) {
		tb := threadblock{rank: rank, put: put, get: get, instance: key}
		if put != none {
			tb.channel, putTB[put] = prog.conns[put].channel, int32(len(prog.tbs))
		}
		if get != none {
			tb.channel, getTB[get] = prog.conns[get].channel, int32(len(prog.tbs))
		}
		prog.tbs = append(prog.tbs, tb)
	}
	works := make([]bool, prog.col.Ranks) // by rank: it has a threadblock
	only := make([]bool, prog.col.Ranks)  // by rank: it has local instructions
	fused := 0
	for i := range prog.ins {
		if in := &prog.ins[i]; prog.live(int32(i)) {
			works[in.rank] = works[in.rank] || in.put != none || in.get != none
			only[in.rank] = only[in.rank] || in.put == none && in.get == none
			if in.fused != none {
				fused++
			}
		}
	}
	// Threadblocks are created in the order in which their pairs are first used.
	for n := 0; n < len(prog.seq) && fused > 0; n++ {
		if in := &prog.ins[prog.seq[n]]; in.fused != none {
			fused--
			if q := prog.msgs[in.put].conn; putTB[q] == none {
				create(in.rank, q, prog.msgs[in.get].conn, prog.msgs[in.get].instance)
			}
		}
	}
	for i := range prog.msgs {
		m := &prog.msgs[i]
		if putTB[m.conn] == none {
			create(m.from, m.conn, none, m.instance)
		}
		if getTB[m.conn] == none {
			create(m.to, none, m.conn, m.instance)
		}
	}
	for r := range prog.col.Ranks {
		if only[r] && !works[r] {
			create(int32(r), none, none, 0)
		}
	}
	return putTB, getTB
}

// sortThreadblocks numbers the threadblocks by rank, channel, peer they send to
// and peer they receive from.
func (prog *program) sortThreadblocks(putTB, getTB []int32) {
	peer := func(q int32, to bool) int32 {
		switch {
		case q == none:
			return none
		case to:
			return prog.conns[q].to
		}
		return prog.conns[q].from
	}
	prog.gpuTBs = make([]int32, prog.col.Ranks+1)
	for i := range prog.tbs {
		prog.gpuTBs[prog.tbs[i].rank+1]++
	}
	for r := range prog.col.Ranks {
		prog.gpuTBs[r+1] += prog.gpuTBs[r]
	}
	byRank, next := make([]threadblock, len(prog.tbs)), slices.Clone(prog.gpuTBs)
	for _, tb := range prog.tbs {
		byRank[next[tb.rank]] = tb
		next[tb.rank]++
	}
	prog.tbs = byRank
	for r := range prog.col.Ranks {
		slices.SortFunc(prog.tbs[prog.gpuTBs[r]:prog.gpuTBs[r+1]], func(a, b threadblock) int {
			return cmp.Or(
				cmp.Compare(a.channel, b.channel),
				cmp.Compare(peer(a.put, true), peer(b.put, true)),
				cmp.Compare(peer(a.get, false), peer(b.get, false)),
			)
		})
	}
	for i, tb := range prog.tbs {
		if tb.put != none {
			putTB[tb.put] = int32(i)
		}
		if tb.get != none {
			getTB[tb.get] = int32(i)
		}
	}
}

// byUse returns a function that orders the threadblocks of one rank by when their
// connections are first used: its first to another rank, the first from one, the second to
// one, and so on. The order does not depend on the numbering of ranks, and ranks that do the
// same have the same order, also where of two that exchange messages one is traced first.
func (prog *program) byUse() func(a, b *threadblock) int {
	outOf, into := make([]int32, len(prog.conns)), make([]int32, len(prog.conns)) // by connection: those of its sender, and of its receiver, before it
	out, in := make([]int32, prog.col.Ranks), make([]int32, prog.col.Ranks)
	for q, c := range prog.conns {
		outOf[q], into[q] = out[c.from], in[c.to]
		out[c.from]++
		in[c.to]++
	}
	nth := func(t *threadblock) int32 {
		switch {
		case t.put != none:
			return 2 * outOf[t.put]
		case t.get != none:
			return 2*into[t.get] + 1
		}
		return none
	}
	return func(a, b *threadblock) int { return cmp.Compare(nth(a), nth(b)) }
}

// mergeToLimit reduces the threadblocks of each rank to the given number by
// merging ones that only send with ones that only receive, on the same channel
// and of the same instance. In the order of their use, a send is merged with the
// receive before it, which it often has to wait for anyway:
//
//	tb 0: s → 1 ch 0        tb 0: s → 1 ch 0
//	tb 1: r ← 1 ch 0        tb 1: r ← 1 ch 0
//	tb 2: s → 2 ch 0              s → 2 ch 0
//	tb 3: r ← 2 ch 0        tb 3: r ← 2 ch 0
//
// If that is not enough, sends are merged with any receive. The global order keeps
// any such merge free of deadlock, but the merged threadblocks no longer run in
// parallel. Merging tb 0 with tb 1 on both ranks would let them block each other
// where a message takes more calls than there are slots: the program would be
// ordered for a call for each chunk (pass slots), one rank's send before the other's.
func (prog *program) mergeToLimit(most int32) error {
	kept, byUse := prog.tbs[:0], prog.byUse()
	var many *TooManyThreadblocks // of the rank that needs most
	for r := range prog.col.Ranks {
		own := prog.tbs[prog.gpuTBs[r]:prog.gpuTBs[r+1]]
		slices.SortFunc(own, func(a, b threadblock) int { return byUse(&a, &b) })
		over := mergeSendRecv(own, int32(len(own))-most)
		if over > 0 && (many == nil || int(most+over) > many.Needs) {
			many = &TooManyThreadblocks{Rank: r, Needs: int(most + over), Most: int(most)}
		}
		for _, tb := range own {
			if tb.rank != none {
				kept = append(kept, tb)
			}
		}
	}
	prog.tbs = kept
	if many != nil {
		return many
	}
	return nil
}

// TooManyThreadblocks says that a rank needs more threadblocks than Options.MaxThreadblocks,
// though all that can be merged are.
type TooManyThreadblocks struct{ Rank, Needs, Most int }

// Error says by how many.
func (e *TooManyThreadblocks) Error() string {
	return fmt.Sprintf("rank %d needs %d threadblocks, %d more than the limit of %d", e.Rank, e.Needs, e.Needs-e.Most, e.Most)
}

// mergeSendRecv merges up to over pairs of a rank's threadblocks, and returns how
// many were not found. A threadblock whose connection was taken over has its
// rank set to none.
func mergeSendRecv(own []threadblock, over int32) int32 {
	type kin struct{ channel, instance int32 }
	receivers := map[kin][]*threadblock{} // that are passed and free
	for n := 0; n < 2*len(own) && over > 0; n++ {
		tb := &own[n%len(own)]
		k := kin{tb.channel, tb.instance}
		switch free := receivers[k]; {
		case tb.put == none && tb.get != none && n < len(own):
			receivers[k] = append(free, tb)
		case tb.put != none && tb.get == none && len(free) > 0:
			last := free[len(free)-1]
			tb.get, *last = last.get, threadblock{rank: none, put: none, get: none}
			receivers[k] = free[:len(free)-1]
			over--
		}
	}
	return over
}
