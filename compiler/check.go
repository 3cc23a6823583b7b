package compiler

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// check tests the invariants that every pass must preserve. It runs between
// passes if Options.CheckEachPass is set. An error is a fault of a pass, not of
// the user's program.
func (prog *program) check() error {
	for _, c := range [...]func() error{prog.checkOps, prog.checkGraph, prog.checkOrder, prog.checkThreadblocks} {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

// checkOps: every place exists, the two ends of a local operation do not overlap,
// and instances are numbered below keys.
func (prog *program) checkOps() error {
	for i := range prog.ops {
		o := &prog.ops[i]
		src, dst := o.ends()
		srcSize, dstSize := prog.size(o.src, o.srcBuf), prog.size(o.dst, o.dstBuf)
		switch {
		case o.count < 1 || o.srcStride < 1 || o.dstStride < 1 || o.count == 1 && o.strided():
			return fmt.Errorf("operation %d has %d chunks, %d and %d apart", i, o.count, o.srcStride, o.dstStride)
		case src.outside(srcSize) || dst.outside(dstSize):
			return fmt.Errorf("operation %d is outside its buffers", i)
		case o.instance < 0 || o.instance >= prog.instances:
			return fmt.Errorf("operation %d is of instance %d, of %d", i, o.instance, prog.instances)
		case o.overlaps():
			return fmt.Errorf("operation %d overlaps itself", i)
		case o.withStride != 0 && (!o.reduce || o.local() || o.with().outside(prog.size(o.dst, o.withBuf))):
			return fmt.Errorf("operation %d adds to what is not there for it", i)
		}
	}
	return nil
}

// outside reports whether any of the chunks lies beyond the end of a buffer of the
// given size.
func (c chunks) outside(size int) bool {
	return c.off < 0 || int64(c.off)+int64(c.count-1)*int64(c.stride) >= int64(size)
}

func (prog *program) size(rank int32, b collective.Buffer) int {
	if b == collective.Scratch {
		return int(prog.scratch[rank])
	}
	return prog.col.BufferChunks(int(rank), b)
}

// checkGraph: waits point to earlier instructions of the same rank; messages and
// instructions refer to each other consistently; and a fused send sends exactly
// what its receive stores and waits for nothing else.
func (prog *program) checkGraph() error {
	mates := connPairing{peers: make([]fusedPeers, len(prog.conns))}
	for i := range mates.peers {
		mates.peers[i] = fusedPeers{none, none}
	}
	for i := range prog.ins {
		in, id := &prog.ins[i], int32(i)
		for _, p := range prog.preds.row(id) {
			if p >= id || prog.ins[p].rank != in.rank {
				return fmt.Errorf("instruction %d waits for %d", i, p)
			}
		}
		if !prog.live(id) {
			a := prog.alias[i]
			if !prog.live(a) || prog.ins[a].fused != id || in.op != ir.Send || len(prog.preds.row(id)) != 1 || prog.preds.row(id)[0] != a {
				return fmt.Errorf("instruction %d is not a part of %d", i, a)
			}
			continue
		}
		if in.op.Sends() != (in.put != none) || in.op.Receives() != (in.get != none) {
			return fmt.Errorf("instruction %d is a %v, with messages %d and %d", i, in.op, in.get, in.put)
		}
		if in.put != none && (prog.msgs[in.put].sender != id || prog.msgs[in.put].from != in.rank || prog.msgs[in.put].count != in.count) {
			return fmt.Errorf("instruction %d is not the sender of message %d", i, in.put)
		}
		if in.get != none && (prog.msgs[in.get].receiver != id || prog.msgs[in.get].to != in.rank || prog.msgs[in.get].count != in.count) {
			return fmt.Errorf("instruction %d is not the receiver of message %d", i, in.get)
		}
		if f := in.fused; f != none {
			s, m, n := &prog.ins[f], &prog.msgs[in.get], &prog.msgs[in.put]
			if prog.conns != nil && !mates.bind(m.conn, n.conn) {
				return fmt.Errorf("instruction %d: its connections are bound to others", i)
			}
			if s.src() != in.dst() || m.instance != n.instance || prog.conns != nil && m.channel != n.channel {
				return fmt.Errorf("instruction %d sends on what it did not receive, or elsewhere", i)
			}
		}
	}
	return nil
}

// checkOrder: the order contains every live instruction once, after everything it
// waits for and after the send of its message. Each connection's messages are
// received in the order in which they were sent, and never occupy more slots than
// there are; only a message larger than all slots together may, if it is received
// at once.
func (prog *program) checkOrder() error {
	if prog.seq == nil {
		return nil
	}
	at := make([]int, len(prog.ins))
	for n, i := range prog.seq {
		if at[i] != 0 || !prog.live(i) {
			return fmt.Errorf("instruction %d is in the order twice, or fused", i)
		}
		at[i] = n + 1
	}
	queue := make([][]int32, len(prog.conns))
	held := make([]int, len(prog.conns))
	for i := range prog.ins {
		id := int32(i)
		if prog.live(id) && at[i] == 0 {
			return fmt.Errorf("instruction %d is not in the order", i)
		}
		for _, p := range prog.preds.row(id) {
			if prog.live(id) && at[prog.alias[p]] >= at[i] {
				return fmt.Errorf("instruction %d comes before %d", i, prog.alias[p])
			}
		}
	}
	for _, i := range prog.seq {
		in := &prog.ins[i]
		if in.get != none {
			m := &prog.msgs[in.get]
			if q := queue[m.conn]; len(q) == 0 || q[0] != in.get {
				return fmt.Errorf("instruction %d takes message %d out of turn", i, in.get)
			}
			queue[m.conn] = queue[m.conn][1:]
			held[m.conn] -= prog.slotsOf(in.get)
		}
		if in.put != none {
			m := &prog.msgs[in.put]
			queue[m.conn] = append(queue[m.conn], in.put)
			held[m.conn] += prog.slotsOf(in.put)
			if held[m.conn] > prog.opt.Slots && len(queue[m.conn]) > 1 {
				return fmt.Errorf("instruction %d sends into %d slots of %d", i, held[m.conn], prog.opt.Slots)
			}
		}
	}
	return nil
}

// checkThreadblocks: every instruction belongs to exactly one threadblock, which
// is on its rank, has its connections, and keeps the global order.
func (prog *program) checkThreadblocks() error {
	if prog.tbs == nil {
		return nil
	}
	at, total := prog.orderPositions(), 0
	for t := range prog.tbs {
		tb := &prog.tbs[t]
		total += len(tb.steps)
		for n, i := range tb.steps {
			in := &prog.ins[i]
			switch {
			case in.rank != tb.rank || prog.tbOf[i] != int32(t) || prog.posOf[i] != int32(n):
				return fmt.Errorf("instruction %d is not where it is said to be", i)
			case n > 0 && at[tb.steps[n-1]] >= at[i]:
				return fmt.Errorf("instruction %d is out of order", i)
			case in.put != none && prog.msgs[in.put].conn != tb.put, in.get != none && prog.msgs[in.get].conn != tb.get:
				return fmt.Errorf("instruction %d is on another connection than its threadblock", i)
			}
		}
	}
	for i := range max(len(prog.waits.start)-1, 0) {
		for _, p := range prog.waits.row(int32(i)) {
			if prog.ins[p].rank != prog.ins[i].rank || !prog.live(p) || !prog.live(int32(i)) || prog.tbOf[p] == prog.tbOf[i] || at[p] >= at[i] {
				return fmt.Errorf("instruction %d waits for %d", i, p)
			}
		}
	}
	if total != len(prog.seq) {
		return fmt.Errorf("%d instructions in threadblocks, of %d", total, len(prog.seq))
	}
	return nil
}
