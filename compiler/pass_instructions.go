package compiler

import (
	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/ir"
)

// instructions expands operations (GC3 4.2): a remote copy becomes a send and a
// receive, a remote reduction a send and a receiveReduceCopy, and a local
// operation stays one instruction.
//
//	0 reduce rank 0 in[0] → rank 1 in[3]        0 s    rank 0 in[0]  → 1
//	                                            1 rrc  rank 1 in[3]  ← 0
//
// Instructions refer only to places on their own rank. The second operand of an
// rrc is the value at its destination, or where pass propagate copies found it. A
// wait for an operation becomes a wait for that operation's instruction at the
// same rank.
func instructions(prog *program) error {
	prog.pool = container.SlicePool{} // most of its slices have an entry for every chunk, and are too large for later passes
	n := 0
	first := make([]int32, len(prog.ops)+1) // by operation: its first instruction
	for i := range prog.ops {
		first[i] = int32(n)
		n++
		if !prog.ops[i].local() {
			n++
		}
	}
	first[len(prog.ops)] = int32(n)
	waits := len(prog.srcDeps.list) + len(prog.dstDeps.list)
	prog.ins = make([]instr, n)
	prog.msgs = make([]message, n-len(prog.ops))
	prog.preds = csr{start: make([]int32, n+1), list: make([]int32, waits)}
	prog.preds.start[n] = int32(waits)
	container.Ranges(len(prog.ops), len(prog.ops), func(from, to int) {
		for i := from; i < to; i++ {
			prog.instructionsOf(int32(i), first)
		}
	})
	prog.srcDeps, prog.dstDeps = csr{}, csr{} // replaced by the instructions' own
	prog.alias = make([]int32, len(prog.ins))
	for i := range prog.alias {
		prog.alias[i] = int32(i)
	}
	return nil
}

// instructionsOf writes the instructions of one operation, with its message and
// waits. Their positions are known in advance: an operation has one instruction
// and the same number of waits as before, and a remote one has a second
// instruction and a message.
func (prog *program) instructionsOf(i int32, first []int32) {
	o, id, m := &prog.ops[i], first[i], first[i]-i
	list := prog.preds.list[prog.srcDeps.start[i]+prog.dstDeps.start[i]:][:0]
	prog.preds.start[id] = prog.srcDeps.start[i] + prog.dstDeps.start[i]
	// after adds waits for the instructions that the given operations have at a
	// rank.
	after := func(deps []int32, rank int32) {
		for _, d := range deps {
			at := first[d]
			if o := &prog.ops[d]; !o.local() && o.dst == rank {
				at++
			}
			list = append(list, at)
		}
	}
	src := instr{op: ir.Send, rank: o.src, srcBuf: o.srcBuf, srcOff: o.srcOff, srcStride: o.srcStride, dstStride: 1, count: o.count, get: none, put: none, fused: none, of: i}
	after(prog.srcDeps.row(i), o.src)
	if o.local() {
		src.op, src.dstBuf, src.dstOff, src.dstStride = ir.Copy, o.dstBuf, o.dstOff, o.dstStride
		if o.reduce {
			src.op = ir.Reduce
		}
		after(prog.dstDeps.row(i), o.src)
		prog.ins[id] = src
		return
	}
	dst := instr{op: ir.Recv, rank: o.dst, dstBuf: o.dstBuf, dstOff: o.dstOff, srcStride: 1, dstStride: o.dstStride, count: o.count, get: m, put: none, fused: none, of: i}
	if o.reduce {
		with := o.with()
		dst.op, dst.srcBuf, dst.srcOff, dst.srcStride = ir.RecvReduceCopy, with.buf, with.off, with.stride
	}
	src.put = m
	prog.preds.start[id+1] = prog.srcDeps.start[i+1] + prog.dstDeps.start[i]
	after(prog.dstDeps.row(i), o.dst)
	prog.ins[id], prog.ins[id+1] = src, dst
	prog.msgs[m] = message{
		from: o.src, to: o.dst, sender: id, receiver: id + 1,
		count: o.count, channel: o.channel, instance: o.instance, conn: none,
	}
}
