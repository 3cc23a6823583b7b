package compiler

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// check tests the invariants that every pass must preserve. It runs between
// passes if Options.CheckEachPass is set. An error is a fault of a pass, not of
// the user's program.
func (u *program) check() error {
	for _, c := range [...]func() error{u.checkOps, u.checkGraph, u.checkOrder, u.checkThreadblocks} {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

// checkOps: every place exists, the two ends of a local operation do not overlap,
// and instances are numbered below keys.
func (u *program) checkOps() error {
	for i := range u.ops {
		o := &u.ops[i]
		src, dst := o.ends()
		srcSize, dstSize := u.size(o.src, o.srcBuf), u.size(o.dst, o.dstBuf)
		switch {
		case o.count < 1 || o.srcStride < 1 || o.dstStride < 1 || o.count == 1 && o.strided():
			return fmt.Errorf("operation %d has %d chunks, %d and %d apart", i, o.count, o.srcStride, o.dstStride)
		case src.outside(srcSize) || dst.outside(dstSize):
			return fmt.Errorf("operation %d is outside its buffers", i)
		case o.instance < 0 || o.instance >= u.instances:
			return fmt.Errorf("operation %d is of instance %d, of %d", i, o.instance, u.instances)
		case o.overlaps():
			return fmt.Errorf("operation %d overlaps itself", i)
		case o.withStride != 0 && (!o.reduce || o.local() || o.with().outside(u.size(o.dst, o.withBuf))):
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

// size returns the number of chunks in a buffer.
func (u *program) size(rank int32, b collective.Buffer) int {
	if b == collective.Scratch {
		return int(u.scratch[rank])
	}
	return u.col.BufferChunks(int(rank), b)
}

// checkGraph: waits point to earlier instructions of the same rank; messages and
// instructions refer to each other consistently; and a fused send sends exactly
// what its receive stores and waits for nothing else.
func (u *program) checkGraph() error {
	mates := connPairing{peers: make([]fusedPeers, len(u.conns))}
	for i := range mates.peers {
		mates.peers[i] = fusedPeers{none, none}
	}
	for i := range u.ins {
		in, id := &u.ins[i], int32(i)
		for _, p := range u.preds.row(id) {
			if p >= id || u.ins[p].rank != in.rank {
				return fmt.Errorf("instruction %d waits for %d", i, p)
			}
		}
		if !u.live(id) {
			a := u.alias[i]
			if !u.live(a) || u.ins[a].fused != id || in.op != ir.Send || len(u.preds.row(id)) != 1 || u.preds.row(id)[0] != a {
				return fmt.Errorf("instruction %d is not a part of %d", i, a)
			}
			continue
		}
		if in.op.Sends() != (in.put != none) || in.op.Receives() != (in.get != none) {
			return fmt.Errorf("instruction %d is a %v, with messages %d and %d", i, in.op, in.get, in.put)
		}
		if in.put != none && (u.msgs[in.put].sender != id || u.msgs[in.put].from != in.rank || u.msgs[in.put].count != in.count) {
			return fmt.Errorf("instruction %d is not the sender of message %d", i, in.put)
		}
		if in.get != none && (u.msgs[in.get].receiver != id || u.msgs[in.get].to != in.rank || u.msgs[in.get].count != in.count) {
			return fmt.Errorf("instruction %d is not the receiver of message %d", i, in.get)
		}
		if f := in.fused; f != none {
			s, m, n := &u.ins[f], &u.msgs[in.get], &u.msgs[in.put]
			if u.conns != nil && !mates.bind(m.conn, n.conn) {
				return fmt.Errorf("instruction %d: its connections are bound to others", i)
			}
			if s.src() != in.dst() || m.instance != n.instance || u.conns != nil && m.channel != n.channel {
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
func (u *program) checkOrder() error {
	if u.seq == nil {
		return nil
	}
	at := make([]int, len(u.ins))
	for n, i := range u.seq {
		if at[i] != 0 || !u.live(i) {
			return fmt.Errorf("instruction %d is in the order twice, or fused", i)
		}
		at[i] = n + 1
	}
	queue := make([][]int32, len(u.conns))
	held := make([]int, len(u.conns))
	for i := range u.ins {
		id := int32(i)
		if u.live(id) && at[i] == 0 {
			return fmt.Errorf("instruction %d is not in the order", i)
		}
		for _, p := range u.preds.row(id) {
			if u.live(id) && at[u.alias[p]] >= at[i] {
				return fmt.Errorf("instruction %d comes before %d", i, u.alias[p])
			}
		}
	}
	for _, i := range u.seq {
		in := &u.ins[i]
		if in.get != none {
			m := &u.msgs[in.get]
			if q := queue[m.conn]; len(q) == 0 || q[0] != in.get {
				return fmt.Errorf("instruction %d takes message %d out of turn", i, in.get)
			}
			queue[m.conn] = queue[m.conn][1:]
			held[m.conn] -= u.slotsOf(in.get)
		}
		if in.put != none {
			m := &u.msgs[in.put]
			queue[m.conn] = append(queue[m.conn], in.put)
			held[m.conn] += u.slotsOf(in.put)
			if held[m.conn] > u.opt.Slots && len(queue[m.conn]) > 1 {
				return fmt.Errorf("instruction %d sends into %d slots of %d", i, held[m.conn], u.opt.Slots)
			}
		}
	}
	return nil
}

// checkThreadblocks: every instruction belongs to exactly one threadblock, which
// is on its rank, has its connections, and keeps the global order.
func (u *program) checkThreadblocks() error {
	if u.tbs == nil {
		return nil
	}
	at := make([]int, len(u.ins))
	for n, i := range u.seq {
		at[i] = n
	}
	total := 0
	for t := range u.tbs {
		tb := &u.tbs[t]
		total += len(tb.steps)
		for n, i := range tb.steps {
			in := &u.ins[i]
			switch {
			case in.rank != tb.rank || u.tbOf[i] != int32(t) || u.posOf[i] != int32(n):
				return fmt.Errorf("instruction %d is not where it is said to be", i)
			case n > 0 && at[tb.steps[n-1]] >= at[i]:
				return fmt.Errorf("instruction %d is out of order", i)
			case in.put != none && u.msgs[in.put].conn != tb.put, in.get != none && u.msgs[in.get].conn != tb.get:
				return fmt.Errorf("instruction %d is on another connection than its threadblock", i)
			}
		}
	}
	for i := range u.waits.start {
		if i == len(u.ins) {
			break
		}
		for _, p := range u.waits.row(int32(i)) {
			if u.ins[p].rank != u.ins[i].rank || !u.live(p) || !u.live(int32(i)) || u.tbOf[p] == u.tbOf[i] || at[p] >= at[i] {
				return fmt.Errorf("instruction %d waits for %d", i, p)
			}
		}
	}
	if total != len(u.seq) {
		return fmt.Errorf("%d instructions in threadblocks, of %d", total, len(u.seq))
	}
	return nil
}
