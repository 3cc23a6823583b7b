package compiler

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// none marks an absent index.
const none = -1

// program is a program in the state that the last pass left. Its parts refer to
// each other by index rather than by pointer, which keeps programs of millions
// of instructions easy on the garbage collector.
type program struct {
	in  *lang.Program
	opt Options

	// The chunk program, from pass expand on. Instances are numbered from 0 to
	// instances-1 across both scopes and instances of the whole program.
	col            collective.Collective
	scratch        []int32 // chunks of scratch, by rank
	ops            []op
	instances      int32
	scopeInstances int32 // largest product of factors of nested scopes

	// The chunk DAG: the operations that each operation depends on, at the rank it
	// reads from and at the rank it writes to.
	srcDeps, dstDeps csr
	writesResult     []bool // by operation: it writes some part of the result

	// The instruction DAG.
	ins   []instr
	preds csr     // instructions of the same rank to wait for, which may be fused: see alias
	alias []int32 // by instruction: itself, or the receive it was fused into
	msgs  []message
	conns []conn

	// The schedule.
	depth, height []int32
	ranked        []int32 // instructions by depth, then height
	seq           []int32 // live instructions in global order
	splits        int
	tbs           []threadblock
	gpuTBs        []int32 // by rank: its first threadblock in tbs; with one more entry at the end
	needs         int     // threadblocks of the busiest rank before any are merged
	tbOf, posOf   []int32 // by instruction: its threadblock in tbs, and its step in it
	waits         csr     // by instruction: instructions of other threadblocks it must wait for explicitly
	slotsWhole    int     // slots that a connection needs if each step is one call
	slotsSplit    int     // the same if each chunk of a step is one
	callPerChunk  bool    // order messages for a call for each chunk: asked for, or chosen by relax
	cycleBreaks   int     // how many times threadblocks were split to end a deadlock
	pool          container.SlicePool
	after         string // the last pass that ran

	out *ir.Program
}

// op is a chunk operation: it copies count chunks of a rank's buffer to, or
// reduces them into, count chunks of the same or another rank. Strides are in
// chunks: at least 1, and exactly 1 for a single chunk.
type op struct {
	reduce               bool
	srcBuf, dstBuf       collective.Buffer
	withBuf              collective.Buffer // see with
	src, dst             int32             // ranks
	srcOff, dstOff       int32
	srcStride, dstStride int32
	withOff, withStride  int32 // stride 0: the operand is at the destination
	count                int32
	channel              int32 // the program's directive, or none
	scope                int32
	instance             int32 // which instance
}

// local reports whether the operation stays within a rank.
func (o *op) local() bool { return o.src == o.dst }

// strided reports whether the chunks are not contiguous at one of the ends.
func (o *op) strided() bool { return o.srcStride != 1 || o.dstStride != 1 }

// setPlaces sets the chunks that the operation reads and writes.
func (o *op) setPlaces(src, dst chunks) {
	o.count = src.count
	o.srcBuf, o.srcOff, o.srcStride = src.buf, src.off, src.stride
	o.dstBuf, o.dstOff, o.dstStride = dst.buf, dst.off, dst.stride
}

// ends returns the chunks that the operation reads and writes.
func (o *op) ends() (src, dst chunks) {
	return chunks{o.srcBuf, o.srcOff, o.count, o.srcStride}, chunks{o.dstBuf, o.dstOff, o.count, o.dstStride}
}

// with returns the operand to which a reduction adds its source. It is at the
// destination, or at another place of that rank that pass propagate copies has
// found.
func (o *op) with() chunks {
	if o.withStride == 0 {
		return chunks{o.dstBuf, o.dstOff, o.count, o.dstStride}
	}
	return chunks{o.withBuf, o.withOff, o.count, o.withStride}
}

// setWith sets the operand to which a reduction adds its source.
func (o *op) setWith(with chunks) {
	o.withBuf, o.withOff, o.withStride = with.buf, with.off, with.stride
	if _, dst := o.ends(); with == dst {
		o.withBuf, o.withOff, o.withStride = 0, 0, 0
	}
}

// overlaps reports whether the operation writes chunks that it reads, other
// than each in its place.
func (o *op) overlaps() bool {
	src, dst := o.ends()
	return o.local() && src != dst && src.intersects(dst) || o.withStride != 0 && o.with().intersects(dst)
}

// withScratch reports whether the operand of a reduction is in scratch and not at
// its destination.
func (o *op) withScratch() bool { return o.withStride > 0 && o.withBuf == collective.Scratch }

// overwrites reports whether the operation writes its destination without
// reading it.
func (o *op) overwrites() bool { return !o.reduce || o.withStride > 0 }

// chunks are evenly spaced chunks of a rank's buffer: off, off+stride, …
type chunks struct {
	buf                collective.Buffer
	off, count, stride int32
}

// end returns one more than the index of the last chunk.
func (c chunks) end() int32 { return c.off + (c.count-1)*c.stride + 1 }

// intersects reports whether c and d have a chunk in common, if they are on the
// same rank.
func (c chunks) intersects(d chunks) bool {
	if c.buf != d.buf || c.off >= d.end() || d.off >= c.end() {
		return false
	}
	if c.stride == 1 && d.stride == 1 {
		return true
	}
	for n := range c.count {
		if k := c.off + n*c.stride - d.off; k >= 0 && k%d.stride == 0 && k/d.stride < d.count {
			return true
		}
	}
	return false
}

func (c chunks) nth(k int32) chunks { return chunks{c.buf, c.off + k*c.stride, 1, 1} }

// part returns count of the chunks, beginning with the k-th.
func (c chunks) part(k, count int32) chunks {
	c.off, c.count = c.off+k*c.stride, count
	if count == 1 {
		c.stride = 1
	}
	return c
}

// loc returns the place in the IR's form.
func (c chunks) loc() ir.Loc {
	return ir.Loc{Buf: c.buf, Off: c.off, Stride: c.stride}.Normal(c.count)
}

// String returns the printed form of the place: in[3], sc[4:6], out[0:13:4].
func (c chunks) String() string { return c.loc().Place(c.count) }

// instr is an instruction of one rank. As in the IR, its places are on that rank.
type instr struct {
	op                   ir.Op
	srcBuf, dstBuf       collective.Buffer
	rank                 int32
	srcOff, dstOff       int32
	srcStride, dstStride int32
	count                int32
	get, put             int32 // messages received and sent, or none
	fused                int32 // the send that was fused into this receive, or none
	of                   int32 // the operation it was made from
}

// local reports whether it neither receives nor sends.
func (i *instr) local() bool { return i.get == none && i.put == none }

// src returns the chunks it reads, if its kind of instruction reads any.
func (i *instr) src() chunks { return chunks{i.srcBuf, i.srcOff, i.count, i.srcStride} }

// dst returns the chunks it writes, if its kind of instruction writes any.
func (i *instr) dst() chunks { return chunks{i.dstBuf, i.dstOff, i.count, i.dstStride} }

func (i *instr) reads(c chunks) bool {
	return i.op.ReadsSrc() && c.intersects(i.src()) || i.op == ir.Reduce && c.intersects(i.dst())
}

// message is the transfer of a remote operation over a connection.
type message struct {
	from, to         int32 // ranks
	sender, receiver int32 // instructions
	count            int32
	channel          int32 // the directive at first, from pass channels on the assigned channel
	instance         int32 // which instance
	conn             int32 // from pass channels on
}

// conn is a connection: one threadblock sends on it, another receives.
type conn struct {
	from, to, channel int32
}

// threadblock is a sequence of instructions, and the connections they use.
type threadblock struct {
	rank     int32
	put, get int32 // connections, or none
	channel  int32
	instance int32
	steps    []int32
}

// csr maps every index to a list of indices, in compressed sparse rows: row i is
// list[start[i]:start[i+1]].
type csr struct {
	start []int32
	list  []int32
}

func (c *csr) row(i int32) []int32 { return c.list[c.start[i]:c.start[i+1]] }

// end finishes the row under construction.
func (c *csr) end() { c.start = append(c.start, int32(len(c.list))) }

// newCSR returns an empty one with capacity for n rows.
func newCSR(n int) csr {
	return csr{start: append(make([]int32, 0, n+1), 0), list: make([]int32, 0, n)}
}

// live reports whether instruction i has not been fused into another.
func (prog *program) live(i int32) bool { return prog.alias[i] == i }

// fuse merges send b into receive a, which becomes an instruction of kind op.
func (prog *program) fuse(a, b int32, op ir.Op) {
	prog.ins[a].op = op
	prog.ins[a].put = prog.ins[b].put
	prog.ins[a].fused = b
	prog.alias[b] = a
	prog.msgs[prog.ins[b].put].sender = a
}

// split undoes fuse: the received value is stored, and sent from there.
// Instructions that waited for the send wait for it again.
func (prog *program) split(a int32) {
	i := &prog.ins[a]
	b := i.fused
	i.fused, i.put = none, none
	if i.op == ir.RecvCopySend {
		i.op = ir.Recv
	} else {
		i.op = ir.RecvReduceCopy
	}
	prog.alias[b] = b
	prog.msgs[prog.ins[b].put].sender = b
	prog.splits++
}

// orderPositions returns the position of every instruction in the global order.
// The caller gives the slice back to the pool.
func (prog *program) orderPositions() []int32 {
	at := prog.pool.Take(len(prog.ins))
	container.Ranges(len(prog.seq), len(prog.seq), func(from, to int) {
		for n := from; n < to; n++ {
			at[prog.seq[n]] = int32(n)
		}
	})
	return at
}

func (prog *program) slotsOf(m int32) int {
	if prog.callPerChunk {
		return int(prog.msgs[m].count)
	}
	return 1
}
