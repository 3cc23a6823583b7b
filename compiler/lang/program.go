package lang

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// Span is Count chunks of a rank's buffer: Index, Index+Stride, … The places
// are canonical: collective.Place has been applied.
type Span struct {
	Rank   int
	Buf    collective.Buffer
	Index  int
	Count  int
	Stride int // 1 where the chunks are contiguous
}

// String prints the span as an error names it: rank 3 in[4:6].
func (s Span) String() string {
	switch {
	case s.Count == 1:
		return fmt.Sprintf("rank %d %s[%d]", s.Rank, s.Buf, s.Index)
	case s.Stride == 1:
		return fmt.Sprintf("rank %d %s[%d:%d]", s.Rank, s.Buf, s.Index, s.Index+s.Count)
	}
	return fmt.Sprintf("rank %d %s[%d:%d:%d]", s.Rank, s.Buf, s.Index, s.Index+s.Count*s.Stride, s.Stride)
}

// Kind is what an operation does to its destination.
type Kind uint8

// The two operations of Table 1.
const (
	Copy   Kind = iota // Dst := Src
	Reduce             // Dst := Dst ⊕ Src
)

// Pos is a place in the program's text.
type Pos struct {
	File      string
	Line, Col int
}

func (p Pos) String() string {
	if p.File == "" {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Op is one traced operation, in program order.
type Op struct {
	Kind    Kind
	Src     Span
	Dst     Span
	Channel int   // ch=, or -1 for the compiler to choose
	Scope   int32 // index into Program.Scopes; 0 is the whole program
	Pos     Pos
}

// Scope is a fragment under parallelize: its operations are replicated Factor
// times, each on its part of the data, on channels of their own.
type Scope struct {
	Parent int32 // enclosing scope; the program's own is 0
	Factor int   // 1 for the program's own scope
}

// Program is a traced chunk program: the chunk DAG in the order it was written.
type Program struct {
	Name       string
	Collective collective.Collective
	Ops        []Op
	Scopes     []Scope // Scopes[0] is the whole program
	Scratch    []int   // chunks of scratch, by rank
}

// Error is a mistake in a chunk program, at the program's own line.
type Error struct {
	Pos    Pos
	Msg    string
	NoLink bool // nothing joins the two ranks: the system's doing, not the program's
	Wrong  bool // the program runs to its end, and its result is not the collective's
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }
