package cpu

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/data"
)

// memory is one buffer of a rank. Where some chunks are one element shorter than
// others, the last element of each longer chunk lies aside (see layouts in package
// data).
type memory struct {
	bytes  []byte
	aside  []byte // empty where the layout is even, and for scratch
	layout *data.Layout
}

// start returns a chunk's first element, and how many of its elements lie in the buffer.
func (m *memory) start(chunk int) (first, elements int64) {
	if m.aside == nil {
		return int64(chunk) * m.layout.ChunkElements, m.layout.ChunkElements
	}
	return m.layout.Start(chunk), m.layout.Elements(chunk)
}

// cursor reads and writes one end of a call: one tile's elements of several chunks of a
// buffer, as contiguous as in a message.
type cursor struct {
	memory *memory
	loc    ir.Loc
	first  int   // the call's first chunk, counted from loc's first
	lo, hi int64 // of each chunk, the elements from lo up to hi
	width  int   // their bytes
	// whole is all of it, if it is contiguous in the buffer.
	whole []byte
}

// point sets the cursor to n chunks of loc, from the first-th on.
func (c *cursor) point(m *memory, loc ir.Loc, first, n int, lo, hi int64) {
	size := int64(m.layout.ElemBytes)
	*c = cursor{memory: m, loc: loc, first: first, lo: lo, hi: hi, width: int((hi - lo) * size)}
	if m.aside != nil || n > 1 && (!loc.Contiguous(int32(n)) || lo != 0 || hi != m.layout.ChunkElements) {
		return
	}
	from := (int64(loc.At(int32(first)))*m.layout.ChunkElements + lo) * size
	c.whole = m.bytes[from : from+int64(n)*int64(c.width)]
}

// segment returns the contiguous bytes from byte at of the call on. at must be the
// beginning of an element.
func (c *cursor) segment(at int) []byte {
	if c.whole != nil {
		return c.whole[at:]
	}
	size := int64(c.memory.layout.ElemBytes)
	chunk := int(c.loc.At(int32(c.first + at/c.width)))
	lo := c.lo + int64(at%c.width)/size
	first, elements := c.memory.start(chunk)
	if hi := min(c.hi, elements); lo < hi {
		return c.memory.bytes[(first+lo)*size : (first+hi)*size]
	}
	return c.memory.aside[int64(chunk)*size : int64(chunk+1)*size]
}

// view returns n bytes from at on without copying; nil if they are not contiguous.
func (c *cursor) view(at, n int) []byte {
	if s := c.segment(at); len(s) >= n {
		return s[:n:n]
	}
	return nil
}

// read returns n bytes from at on, copied to scratch if they are not contiguous.
func (c *cursor) read(at, n int, scratch []byte) []byte {
	if v := c.view(at, n); v != nil {
		return v
	}
	for done := 0; done < n; {
		done += copy(scratch[done:n], c.segment(at+done))
	}
	return scratch[:n]
}

func (c *cursor) write(at int, b []byte) {
	for len(b) > 0 {
		n := copy(c.segment(at), b)
		at, b = at+n, b[n:]
	}
}

func (r *rank) buffer(b collective.Buffer) *memory { return &r.memory[b] }
