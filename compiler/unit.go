package compiler

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// none marks an absent index.
const none = -1

// unit is a program on its way through the passes. Everything is an index into
// a slice: a program of millions of instructions has few pointers.
type unit struct {
	in  *lang.Program
	opt Options

	// The chunk program, from expand on. Instances are numbered across scopes
	// and whole-program instances: 0 to keys-1.
	col     collective.Collective
	scratch []int32 // chunks of scratch, by rank
	ops     []op
	keys    int32
	widest  int32 // the largest product of factors along a chain of scopes

	// The chunk DAG: operations each operation waits for, at the rank it reads
	// from and at the rank it writes to.
	srcDeps, dstDeps csr
	final            []bool // by operation: what it writes is (partly) the result

	// The instruction DAG.
	ins   []instr
	preds csr     // instructions of the same rank to wait for; see live
	alias []int32 // by instruction: itself, or the one it was fused into
	msgs  []message
	conns []conn

	// The schedule.
	depth, height []int32
	ranked        []int32 // instructions by depth, then height
	seq           []int32 // live instructions in global order
	splits        int
	tbs           []threadblock
	gpuTBs        []int32 // by rank: its first threadblock in tbs; one more at the end
	tbOf, posOf   []int32 // by instruction: its threadblock in tbs, and its step there
	waits         csr     // by instruction: instructions of other threadblocks to wait for
	slotsWhole    int     // slots a connection needs, each step being one call
	slotsSplit    int     // … each chunk being one
	untangled     int     // how often threadblocks were looked for that are to be taken apart
	room          room
	after         string // the pass that has run
	again         string // the pass to go back to, where one has asked for that

	out *ir.Program
}

// op is a chunk operation: count chunks of a rank's buffer copied to, or reduced
// into, count chunks of another's or its own. Strides are at least 1, and 1 where
// there is one chunk.
type op struct {
	reduce               bool
	srcBuf, dstBuf       collective.Buffer
	withBuf              collective.Buffer // see with
	src, dst             int32             // ranks
	srcOff, dstOff       int32
	srcStride, dstStride int32
	withOff, withStride  int32 // stride 0: where the result goes
	count                int32
	channel              int32 // directive, or none
	scope                int32
	key                  int32 // which instance
}

// local tells whether one rank does it all.
func (o *op) local() bool { return o.src == o.dst }

// strided tells whether the chunks do not lie side by side, at either end.
func (o *op) strided() bool { return o.srcStride != 1 || o.dstStride != 1 }

// between gives the operation its places.
func (o *op) between(src, dst chunks) {
	o.count = src.count
	o.srcBuf, o.srcOff, o.srcStride = src.buf, src.off, src.stride
	o.dstBuf, o.dstOff, o.dstStride = dst.buf, dst.off, dst.stride
}

// ends are the places the operation reads and writes.
func (o *op) ends() (src, dst chunks) {
	return chunks{o.srcBuf, o.srcOff, o.count, o.srcStride}, chunks{o.dstBuf, o.dstOff, o.count, o.dstStride}
}

// with is what a reduction adds its source to: what lies where the result goes, or
// elsewhere at that rank, once pass forward has found it there.
func (o *op) with() chunks {
	if o.withStride == 0 {
		return chunks{o.dstBuf, o.dstOff, o.count, o.dstStride}
	}
	return chunks{o.withBuf, o.withOff, o.count, o.withStride}
}

// add has a reduction add its source to what lies there.
func (o *op) add(with chunks) {
	o.withBuf, o.withOff, o.withStride = with.buf, with.off, with.stride
	if _, dst := o.ends(); with == dst {
		o.withBuf, o.withOff, o.withStride = 0, 0, 0
	}
}

// withScratch tells whether a reduction adds to scratch elsewhere than where the
// sum goes.
func (o *op) withScratch() bool { return o.withStride > 0 && o.withBuf == collective.Scratch }

// anew tells whether the operation writes chunks without reading them first.
func (o *op) anew() bool { return !o.reduce || o.withStride > 0 }

// chunks are some chunks of a rank's buffer: off, off+stride, …
type chunks struct {
	buf                collective.Buffer
	off, count, stride int32
}

// end is the index after that of the last.
func (c chunks) end() int32 { return c.off + (c.count-1)*c.stride + 1 }

// meet tells whether a chunk of the same rank is among both.
func (c chunks) meet(d chunks) bool {
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

// one is the k-th of the chunks.
func (c chunks) one(k int32) chunks { return chunks{c.buf, c.off + k*c.stride, 1, 1} }

// part is count of the chunks, from the k-th on.
func (c chunks) part(k, count int32) chunks {
	c.off, c.count = c.off+k*c.stride, count
	if count == 1 {
		c.stride = 1
	}
	return c
}

// loc is the place as the IR has it.
func (c chunks) loc() ir.Loc {
	return ir.Loc{Buf: c.buf, Off: c.off, Stride: c.stride}.Of(c.count)
}

// String is the place as it is printed: in[3], sc[4:6], out[0:13:4].
func (c chunks) String() string { return c.loc().Place(c.count) }

// instr is an instruction of one rank. A place is local, as in the IR.
type instr struct {
	op                   ir.Op
	srcBuf, dstBuf       collective.Buffer
	rank                 int32
	srcOff, dstOff       int32
	srcStride, dstStride int32
	count                int32
	get, put             int32 // messages received and sent, or none
	fused                int32 // the send that became part of this receive, or none
	of                   int32 // operation it came from
}

// local tells whether it neither receives nor sends.
func (i *instr) local() bool { return i.get == none && i.put == none }

// src are the chunks it reads, if its op reads any.
func (i *instr) src() chunks { return chunks{i.srcBuf, i.srcOff, i.count, i.srcStride} }

// dst are the chunks it writes, if its op writes any.
func (i *instr) dst() chunks { return chunks{i.dstBuf, i.dstOff, i.count, i.dstStride} }

// reads tells whether the instruction reads any of some chunks.
func (i *instr) reads(c chunks) bool {
	return i.op.ReadsSrc() && c.meet(i.src()) || i.op == ir.Reduce && c.meet(i.dst())
}

// message is what a remote operation puts on a connection.
type message struct {
	from, to         int32 // ranks
	sender, receiver int32 // instructions
	count            int32
	channel          int32 // directive, then the channel given
	key              int32 // which instance
	conn             int32 // from pass channels on
}

// conn is a connection: what a threadblock sends on, and another receives from.
type conn struct {
	from, to, channel int32
}

// threadblock is a sequence of instructions and its connections.
type threadblock struct {
	rank     int32
	put, get int32 // connections, or none
	channel  int32
	key      int32
	steps    []int32
}

// csr is a list of indices for every index: row i is list[start[i]:start[i+1]].
type csr struct {
	start []int32
	list  []int32
}

func (c *csr) row(i int32) []int32 { return c.list[c.start[i]:c.start[i+1]] }

// end closes a row under construction.
func (c *csr) end() { c.start = append(c.start, int32(len(c.list))) }

// newCSR is an empty one for about n rows.
func newCSR(n int) csr {
	return csr{start: append(make([]int32, 0, n+1), 0), list: make([]int32, 0, n)}
}

// live tells whether instruction i stands for itself.
func (u *unit) live(i int32) bool { return u.alias[i] == i }

// fuse makes send b part of receive a, which becomes instruction op.
func (u *unit) fuse(a, b int32, op ir.Op) {
	u.ins[a].op = op
	u.ins[a].put = u.ins[b].put
	u.ins[a].fused = b
	u.alias[b] = a
	u.msgs[u.ins[b].put].sender = a
}

// split undoes fuse: the value is stored, then sent from there. Whatever waited
// for the send waits for it again.
func (u *unit) split(a int32) (b int32) {
	i := &u.ins[a]
	b = i.fused
	i.fused, i.put = none, none
	if i.op == ir.RecvCopySend {
		i.op = ir.Recv
	} else {
		i.op = ir.RecvReduceCopy
	}
	u.alias[b] = b
	u.msgs[u.ins[b].put].sender = b
	u.splits++
	return b
}

// turns is every instruction's place in the global order.
func (u *unit) turns() []int32 {
	at := u.room.take(len(u.ins))
	sideBySide(len(u.seq), len(u.seq), func(from, to int) {
		for n := from; n < to; n++ {
			at[u.seq[n]] = int32(n)
		}
	})
	return at
}

// slotsOf is how many slots a message fills.
func (u *unit) slotsOf(m int32) int {
	if u.opt.CallPerChunk {
		return int(u.msgs[m].count)
	}
	return 1
}
