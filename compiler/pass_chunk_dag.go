package compiler

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/compiler/collective"
)

// maxTouched bounds the work of finding dependencies, as the total number of
// chunks that operations touch.
const maxTouched = 1 << 29

// chunkDAG finds, for every operation, which earlier ones it must wait for (GC3
// 4.1): writers of the chunks it reads (true dependencies), and readers and
// writers of the chunks it overwrites (false ones).
//
//	0 copy rank 0 in[0] → rank 1 sc[0]
//	1 copy rank 1 sc[0] → rank 2 out[0]    at rank 1 after 0
//	2 copy rank 0 in[1] → rank 1 sc[0]     at rank 1 after 1
//
// A write waits for the readers since the last write. It waits for that write
// itself only if there are no readers, since readers waited for it.
// Dependencies at the rank that is read and at the rank that is written are
// separate lists, since they become waits of different instructions.
func chunkDAG(prog *program) error {
	t, err := newCells(prog)
	if err != nil {
		return err
	}
	touched := prog.touched()
	if touched > maxTouched {
		return fmt.Errorf("%d chunks moved over all operations: want at most %d", touched, maxTouched)
	}
	nodes := int(min(touched, 2*int64(len(prog.ops)))) // upper bound on simultaneously recorded readers
	t.reader, t.next = make([]int32, 0, nodes), make([]int32, 0, nodes)
	prog.srcDeps, prog.dstDeps = newCSR(len(prog.ops)), newCSR(len(prog.ops))
	seen := prog.pool.Take(len(prog.ops)) // by operation: 1 + the last row it was added to
	defer func() { prog.pool.Give(t.writer, t.last, t.readers, t.reader, t.next, seen) }()
	for i := range prog.ops {
		o, id := &prog.ops[i], int32(i)
		src := t.at(o.src, o.srcBuf, o.srcOff)
		dst := t.at(o.dst, o.dstBuf, o.dstOff)

		row := 2*id + 1
		for c, end := src, src+int(o.count)*int(o.srcStride); c < end; c += int(o.srcStride) {
			add(&prog.srcDeps, seen, t.writer[c], row)
			t.read(c, id)
		}
		prog.srcDeps.end()

		if !o.local() {
			row++ // a local operation becomes one instruction, so both ends share a row
		}
		if o.withStride > 0 {
			with := t.at(o.dst, o.withBuf, o.withOff)
			for c, end := with, with+int(o.count)*int(o.withStride); c < end; c += int(o.withStride) {
				add(&prog.dstDeps, seen, t.writer[c], row)
				t.read(c, id)
			}
		}
		for c, end := dst, dst+int(o.count)*int(o.dstStride); c < end; c += int(o.dstStride) {
			if o.reduce && o.withStride == 0 || t.readers[c] == none {
				add(&prog.dstDeps, seen, t.writer[c], row)
			}
			for n := t.readers[c]; n != none; n = t.next[n] {
				if t.reader[n] != id {
					add(&prog.dstDeps, seen, t.reader[n], row)
				}
			}
			t.write(c, id)
		}
		prog.dstDeps.end()
		if len(prog.srcDeps.list)+len(prog.dstDeps.list) > math.MaxInt32/2 {
			return fmt.Errorf("more than %d dependencies", math.MaxInt32/2)
		}
	}
	if prog.writesResult == nil { // otherwise only scratch has moved since, which holds no results
		prog.markResults(t)
	}
	return nil
}

// markResults marks the operations that write a part of the result, given the
// state of every cell at the end.
func (prog *program) markResults(t *cells) {
	prog.writesResult = make([]bool, len(prog.ops))
	for r := range prog.col.Ranks {
		for i := range prog.col.OutChunks(r) {
			if prog.col.Want(r, i).Kind == collective.WantNothing {
				continue
			}
			b, off := prog.col.Place(r, collective.Out, i)
			if w := t.writer[t.at(int32(r), b, int32(off))]; w != none {
				prog.writesResult[w] = true
			}
		}
	}
}

func (prog *program) touched() (n int64) {
	for i := range prog.ops {
		n += int64(prog.ops[i].count)
	}
	return n
}

// add puts o into the row under construction, unless it is there already.
func add(c *csr, seen []int32, o, row int32) {
	if o != none && seen[o] != row {
		seen[o] = row
		c.list = append(c.list, o)
	}
}

// cells records for every chunk of every buffer who wrote it last and who has read
// it since.
type cells struct {
	base    [][3]int // first cell of each buffer, by rank and buffer
	writer  []int32
	last    []int32 // the last operation to write it; readers after that one delay nothing
	readers []int32 // head of each cell's list of readers: a node, or none
	reader  []int32 // by node
	next    []int32 // by node
	free    int32   // list of nodes that can be reused
}

func newCells(prog *program) (*cells, error) {
	base, n, err := prog.cellBases()
	if err != nil {
		return nil, err
	}
	t := &cells{base: base, free: none, writer: prog.pool.Take(n), last: prog.pool.Take(n), readers: prog.pool.Take(n)}
	fill(t.writer, none)
	fill(t.last, none)
	fill(t.readers, none)
	for i := range prog.ops {
		o := &prog.ops[i]
		dst := t.at(o.dst, o.dstBuf, o.dstOff)
		for c, end := dst, dst+int(o.count)*int(o.dstStride); c < end; c += int(o.dstStride) {
			t.last[c] = int32(i)
		}
	}
	return t, nil
}

// cellBases numbers the chunks of all buffers. It returns each buffer's first
// number, by rank and buffer, and the number of cells.
func (prog *program) cellBases() (base [][3]int, n int, err error) {
	base = make([][3]int, prog.col.Ranks)
	for r := range base {
		for b := collective.In; b <= collective.Scratch; b++ {
			base[r][b] = n
			n += prog.size(int32(r), b)
		}
	}
	if n > math.MaxInt32/2 {
		err = fmt.Errorf("%d chunks over all buffers: want at most %d", n, math.MaxInt32/2)
	}
	return base, n, err
}

// fromCell returns count chunks of a rank, stride apart, of which the first has a cell's
// number. It reports false if they run from one buffer into the next.
func (prog *program) fromCell(base [][3]int, rank, cell, count, stride int32) (c chunks, ok bool) {
	c = chunks{collective.In, 0, count, stride}
	for c.buf < collective.Scratch && int(cell) >= base[rank][c.buf+1] {
		c.buf++
	}
	c.off = cell - int32(base[rank][c.buf])
	return c, int(c.end()) <= prog.size(rank, c.buf)
}

func (t *cells) at(rank int32, b collective.Buffer, off int32) int {
	return t.base[rank][b] + int(off)
}

// read records that operation o reads cell c, unless c is never written
// afterwards.
func (t *cells) read(c int, o int32) {
	if t.last[c] <= o {
		return
	}
	n := t.free
	if n != none {
		t.free = t.next[n]
	} else {
		n = int32(len(t.reader))
		t.reader, t.next = append(t.reader, 0), append(t.next, 0)
	}
	t.reader[n], t.next[n] = o, t.readers[c]
	t.readers[c] = n
}

// write records that operation o writes cell c, and drops the readers of the old
// value.
func (t *cells) write(c int, o int32) {
	t.writer[c] = o
	if first := t.readers[c]; first != none {
		n := first
		for t.next[n] != none {
			n = t.next[n]
		}
		t.next[n] = t.free
		t.free = first
		t.readers[c] = none
	}
}
