package compiler

import "github.com/colltune/colltune/compiler/ir"

// instructions expands operations (GC3 4.2): a remote copy into a send and a
// receive, a remote reduction into a send and a receiveReduceCopy, a local one
// into itself.
//
//	0 reduce rank 0 in[0] → rank 1 in[3]        0 s    rank 0 in[0]  → 1
//	                                            1 rrc  rank 1 in[3]  ← 0
//
// Places become local: the second operand of an rrc is what lies where the
// result goes, whatever the place it came from is called. A wait becomes one
// for the other operation's instruction at the same rank.
func instructions(u *unit) error {
	n, remote := 0, 0
	first := make([]int32, len(u.ops)) // by operation: its first instruction
	for i := range u.ops {
		first[i] = int32(n)
		n++
		if !u.ops[i].local() {
			n++
			remote++
		}
	}
	u.ins = make([]instr, 0, n)
	u.msgs = make([]message, 0, remote)
	u.preds = csr{
		start: append(make([]int32, 0, n+1), 0),
		list:  make([]int32, 0, len(u.srcDeps.list)+len(u.dstDeps.list)),
	}
	// at is operation d's instruction at a rank.
	at := func(d, rank int32) int32 {
		if o := &u.ops[d]; !o.local() && o.dst == rank {
			return first[d] + 1
		}
		return first[d]
	}
	for i := range u.ops {
		o, id := &u.ops[i], int32(len(u.ins))
		src := instr{op: ir.Send, rank: o.src, srcBuf: o.srcBuf, srcOff: o.srcOff, srcStride: o.srcStride, dstStride: 1, count: o.count, get: none, put: none, fused: none, of: int32(i)}
		dst := instr{op: ir.Recv, rank: o.dst, dstBuf: o.dstBuf, dstOff: o.dstOff, srcStride: 1, dstStride: o.dstStride, count: o.count, get: none, put: none, fused: none, of: int32(i)}
		for _, d := range u.srcDeps.row(int32(i)) {
			u.preds.list = append(u.preds.list, at(d, o.src))
		}
		if o.local() {
			src.op, src.dstBuf, src.dstOff, src.dstStride = ir.Copy, o.dstBuf, o.dstOff, o.dstStride
			if o.reduce {
				src.op = ir.Reduce
			}
			for _, d := range u.dstDeps.row(int32(i)) {
				u.preds.list = append(u.preds.list, at(d, o.src))
			}
			u.preds.end()
			u.ins = append(u.ins, src)
			continue
		}
		u.preds.end()
		if o.reduce {
			dst.op, dst.srcBuf, dst.srcOff, dst.srcStride = ir.RecvReduceCopy, o.dstBuf, o.dstOff, o.dstStride
		}
		src.put, dst.get = int32(len(u.msgs)), int32(len(u.msgs))
		u.msgs = append(u.msgs, message{
			from: o.src, to: o.dst, sender: id, receiver: id + 1,
			count: o.count, channel: o.channel, key: o.key, conn: none,
		})
		for _, d := range u.dstDeps.row(int32(i)) {
			u.preds.list = append(u.preds.list, at(d, o.dst))
		}
		u.preds.end()
		u.ins = append(u.ins, src, dst)
	}
	u.srcDeps, u.dstDeps = csr{}, csr{} // the instructions have them now
	u.alias = make([]int32, len(u.ins))
	for i := range u.alias {
		u.alias[i] = int32(i)
	}
	return nil
}
