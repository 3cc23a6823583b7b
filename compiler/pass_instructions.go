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
func instructions(u *program) error {
	u.pool = container.SlicePool{} // most of its slices have an entry for every chunk, and are too large for later passes
	n := 0
	first := make([]int32, len(u.ops)+1) // by operation: its first instruction
	for i := range u.ops {
		first[i] = int32(n)
		n++
		if !u.ops[i].local() {
			n++
		}
	}
	first[len(u.ops)] = int32(n)
	waits := len(u.srcDeps.list) + len(u.dstDeps.list)
	u.ins = make([]instr, n)
	u.msgs = make([]message, n-len(u.ops))
	u.preds = csr{start: make([]int32, n+1), list: make([]int32, waits)}
	u.preds.start[n] = int32(waits)
	container.Ranges(len(u.ops), len(u.ops), func(from, to int) {
		for i := from; i < to; i++ {
			u.instructionsOf(int32(i), first)
		}
	})
	u.srcDeps, u.dstDeps = csr{}, csr{} // replaced by the instructions' own
	u.alias = make([]int32, len(u.ins))
	for i := range u.alias {
		u.alias[i] = int32(i)
	}
	return nil
}

// instructionsOf writes the instructions of one operation, with its message and
// waits. Their positions are known in advance: an operation has one instruction
// and the same number of waits as before, and a remote one has a second
// instruction and a message.
func (u *program) instructionsOf(i int32, first []int32) {
	o, id, m := &u.ops[i], first[i], first[i]-i
	list := u.preds.list[u.srcDeps.start[i]+u.dstDeps.start[i]:][:0]
	u.preds.start[id] = u.srcDeps.start[i] + u.dstDeps.start[i]
	// after adds waits for the instructions that the given operations have at a
	// rank.
	after := func(deps []int32, rank int32) {
		for _, d := range deps {
			at := first[d]
			if o := &u.ops[d]; !o.local() && o.dst == rank {
				at++
			}
			list = append(list, at)
		}
	}
	src := instr{op: ir.Send, rank: o.src, srcBuf: o.srcBuf, srcOff: o.srcOff, srcStride: o.srcStride, dstStride: 1, count: o.count, get: none, put: none, fused: none, of: i}
	after(u.srcDeps.row(i), o.src)
	if o.local() {
		src.op, src.dstBuf, src.dstOff, src.dstStride = ir.Copy, o.dstBuf, o.dstOff, o.dstStride
		if o.reduce {
			src.op = ir.Reduce
		}
		after(u.dstDeps.row(i), o.src)
		u.ins[id] = src
		return
	}
	dst := instr{op: ir.Recv, rank: o.dst, dstBuf: o.dstBuf, dstOff: o.dstOff, srcStride: 1, dstStride: o.dstStride, count: o.count, get: m, put: none, fused: none, of: i}
	if o.reduce {
		with := o.with()
		dst.op, dst.srcBuf, dst.srcOff, dst.srcStride = ir.RecvReduceCopy, with.buf, with.off, with.stride
	}
	src.put = m
	u.preds.start[id+1] = u.srcDeps.start[i+1] + u.dstDeps.start[i]
	after(u.dstDeps.row(i), o.dst)
	u.ins[id], u.ins[id+1] = src, dst
	u.msgs[m] = message{
		from: o.src, to: o.dst, sender: id, receiver: id + 1,
		count: o.count, channel: o.channel, instance: o.instance, conn: none,
	}
}
