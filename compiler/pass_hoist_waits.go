package compiler

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// maxHoistedRun is the longest run: MSCCL fuses no more reductions.
const maxHoistedRun = 16

// hoistWaits makes a run of reductions into one place wait for all their sources
// before the first. A runtime can then execute the run as one operation that reads
// and writes the place once.
//
//	tb 2: 1 re sc[0] ⊕ in[0]  waits tb 0 step 0        1 re sc[0] ⊕ in[0]  waits tb 0 step 0, tb 1 step 0
//	      2 re sc[1] ⊕ in[0]  waits tb 1 step 0        2 re sc[1] ⊕ in[0]
//
// A wait is moved only if it is for an instruction before the run's first
// reduction in the global order, so that the order remains an execution that
// never blocks.
func hoistWaits(prog *program) error {
	if !slices.ContainsFunc(prog.ins, func(in instr) bool { return in.op == ir.Reduce }) {
		return nil
	}
	at := prog.orderPositions()
	moved := map[int32][]int32{} // by first of a run: its new waits; by the others of a run: an empty list
	for t := range prog.tbs {
		steps := prog.tbs[t].steps
		for from := 0; from < len(steps); {
			to := from + 1
			for to < len(steps) && to-from < maxHoistedRun && prog.joinsRun(steps[from], steps[to], at) {
				to++
			}
			if to-from > 1 {
				prog.hoist(steps[from:to], moved, at)
			}
			from = to
		}
	}
	prog.pool.Give(at)
	if len(moved) == 0 {
		return nil
	}
	waits := newCSR(len(prog.ins))
	for i := range int32(len(prog.ins)) {
		if list, ok := moved[i]; ok {
			waits.list = append(waits.list, list...)
		} else {
			waits.list = append(waits.list, prog.waits.row(i)...)
		}
		waits.end()
	}
	prog.pool.Give(prog.waits.start)
	prog.waits = waits
	return nil
}

// joinsRun reports whether reduction b can join the run that reduction a begins.
func (prog *program) joinsRun(a, b int32, at []int32) bool {
	x, y := &prog.ins[a], &prog.ins[b]
	if x.op != ir.Reduce || y.op != ir.Reduce ||
		x.dst() != y.dst() || x.srcBuf != y.srcBuf {
		return false
	}
	return !slices.ContainsFunc(prog.waits.row(b), func(p int32) bool { return at[p] > at[a] })
}

// hoist gives the first reduction of a run the waits of all, keeping the latest
// step of each threadblock.
func (prog *program) hoist(run []int32, moved map[int32][]int32, at []int32) {
	var all []int32
	for _, i := range run {
		all = append(all, prog.waits.row(i)...)
		moved[i] = nil
	}
	slices.SortFunc(all, func(a, b int32) int {
		return cmp.Or(cmp.Compare(prog.tbOf[a], prog.tbOf[b]), cmp.Compare(prog.posOf[b], prog.posOf[a]))
	})
	all = slices.CompactFunc(all, func(a, b int32) bool { return prog.tbOf[a] == prog.tbOf[b] })
	slices.SortFunc(all, func(a, b int32) int { return cmp.Compare(at[a], at[b]) })
	moved[run[0]] = all
}
