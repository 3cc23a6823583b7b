package ir

import "github.com/colltune/colltune/compiler/collective"

// Loc is where the Step.Count chunks that a step reads or writes lie in a local
// buffer: the first at Off, each of the others Stride chunks after the one
// before it.
//
//	["sc",1]     count 3    sc[1:4]       . # # # . . . . .
//	["sc",1,3]   count 3    sc[1:8:3]     . # . . # . . # .
//
// A Stride of 0 is one of 1: the chunks lie side by side. Messages have no
// stride: what is sent from places apart arrives side by side or apart, as the
// receiving step says.
type Loc struct {
	Buf    collective.Buffer
	Off    int32
	Stride int32
}

// step is the distance from one chunk to the next.
func (l Loc) step() int32 { return max(l.Stride, 1) }

// At is the index in the buffer of the step's chunk i, of 0 to Count-1.
func (l Loc) At(i int32) int32 { return l.Off + i*l.step() }

// End is the index after that of the last of count chunks.
func (l Loc) End(count int32) int64 {
	return int64(l.Off) + (int64(count)-1)*int64(l.step()) + 1
}

// Contiguous reports whether count chunks lie side by side.
func (l Loc) Contiguous(count int32) bool { return l.Stride <= 1 || count <= 1 }

// Of is the place as it is written for count chunks: without a stride that says
// nothing.
func (l Loc) Of(count int32) Loc {
	if l.Contiguous(count) {
		l.Stride = 0
	}
	return l
}
