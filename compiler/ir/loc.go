package ir

import "github.com/colltune/colltune/compiler/collective"

// Loc is the place of the Step.Count chunks that a step reads or writes: the
// first at chunk Off of a local buffer, each further one Stride chunks after
// the one before.
//
//	["sc",1]     count 3    sc[1:4]       . # # # . . . . .
//	["sc",1,3]   count 3    sc[1:8:3]     . # . . # . . # .
//
// A Stride of 0 means 1: the chunks are contiguous. Messages have no stride:
// the receiver places the chunks with its own.
type Loc struct {
	Buf    collective.Buffer
	Off    int32
	Stride int32
}

func (l Loc) step() int32 { return max(l.Stride, 1) }

// At returns the index in the buffer of the step's chunk i, of 0 to Count-1.
func (l Loc) At(i int32) int32 { return l.Off + i*l.step() }

// End returns one more than the index of the last of count chunks.
func (l Loc) End(count int32) int64 {
	return int64(l.Off) + (int64(count)-1)*int64(l.step()) + 1
}

// Contiguous reports whether count chunks are contiguous.
func (l Loc) Contiguous(count int32) bool { return l.Stride <= 1 || count <= 1 }

// Normal returns the place with Stride 0 if count chunks are contiguous.
func (l Loc) Normal(count int32) Loc {
	if l.Contiguous(count) {
		l.Stride = 0
	}
	return l
}
