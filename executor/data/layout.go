package data

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// Layout is how the elements of a call are divided into chunks. The package
// comment defines S, C and E.
type Layout struct {
	ElemBytes     int
	Chunks        int   // C: chunks in a unit
	UnitElements  int64 // S
	ChunkElements int64 // E: elements of one chunk in a message or in scratch
}

// maxBytes is the largest call; larger ones would overflow products of sizes.
const maxBytes = 1 << 50

// NewLayout divides a call of the given size, in bytes as nccl-tests prints them. The error
// is about a size that is negative, too large, or not a multiple that the collective needs.
func NewLayout(c collective.Collective, bytes int64, d DType) (Layout, error) {
	if bytes < 0 || bytes > maxBytes {
		return Layout{}, fmt.Errorf("size of %d bytes: want 0 to 1 PiB", bytes)
	}
	elem := int64(d.Bytes())
	units := int64(c.LoopChunks() / c.Chunks)
	all := ceil(bytes, elem)
	unit := ceil(all, units)
	return Layout{
		ElemBytes:     d.Bytes(),
		Chunks:        c.Chunks,
		UnitElements:  unit,
		ChunkElements: ceil(unit, int64(c.Chunks)),
	}, nil
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// Even reports whether all chunks have the same number of elements; chunk i of any
// buffer then begins at element i·E.
func (l *Layout) Even() bool { return l.UnitElements%int64(l.Chunks) == 0 }

// Start returns the first element of chunk i of a user's buffer. For the number of chunks
// in a buffer it is the buffer's end.
func (l *Layout) Start(i int) int64 {
	unit, j := int64(i/l.Chunks), int64(i%l.Chunks)
	return unit*l.UnitElements + j*l.UnitElements/int64(l.Chunks)
}

// Elements returns the number of elements in chunk i of a user's buffer: E or E-1.
func (l *Layout) Elements(i int) int64 {
	j, c := int64(i%l.Chunks), int64(l.Chunks)
	return (j+1)*l.UnitElements/c - j*l.UnitElements/c
}

// UserBytes returns the size, in bytes, of a user's buffer of the given chunks, a whole number of
// units.
func (l *Layout) UserBytes(chunks int) int64 { return l.Start(chunks) * int64(l.ElemBytes) }

// ScratchBytes returns the size of the given number of scratch chunks, in bytes.
func (l *Layout) ScratchBytes(chunks int) int64 {
	return int64(chunks) * l.ChunkElements * int64(l.ElemBytes)
}
