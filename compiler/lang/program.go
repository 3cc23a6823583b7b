package lang

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// Span is Count chunks of a rank's buffer: Index, Index+Stride, … The places
// are canonical: collective.Place has been applied. Its numbers have 32 bits,
// since a program may have millions.
type Span struct {
	Rank   int32
	Index  int32
	Count  int32
	Stride int32 // 1 where the chunks are contiguous
	Buf    collective.Buffer
}

// last is the index of the last chunk.
func (s Span) last() int32 { return s.Index + (s.Count-1)*s.Stride }

// String prints the span as an error names it: rank 3 in[4:6].
func (s Span) String() string {
	return spell(int(s.Rank), s.Buf.String(), int(s.Index), int(s.Count), int(s.Stride))
}

// spell prints chunks, whether there are such or not.
func spell(rank int, buffer string, index, count, stride int) string {
	switch {
	case count == 1:
		return fmt.Sprintf("rank %d %s[%d]", rank, buffer, index)
	case stride == 1:
		return fmt.Sprintf("rank %d %s[%d:%d]", rank, buffer, index, index+count)
	}
	return fmt.Sprintf("rank %d %s[%d:%d:%d]", rank, buffer, index, index+count*stride, stride)
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

// Op is one traced operation, in program order. Program.Pos says where in the
// text it stands.
type Op struct {
	Src     Span
	Dst     Span
	Channel int32 // ch=, or -1 for the compiler to choose
	Scope   int32 // index into Program.Scopes; 0 is the whole program
	at      mark
	Kind    Kind
}

// mark is a Pos whose file is a number, so that an operation has no pointers.
type mark struct {
	file, line, col int32 // file: 1 + index into the program's; 0 none
}

// files are the texts that a program's marks stand in.
type files []string

// mark is p, its file being numbered if it is not yet.
func (f *files) mark(p Pos) mark {
	if p.File == "" {
		return mark{}
	}
	n := slices.Index(*f, p.File)
	if n < 0 {
		n = len(*f)
		*f = append(*f, p.File)
	}
	return mark{int32(n) + 1, int32(p.Line), int32(p.Col)}
}

// pos is what a mark stands for.
func (f files) pos(m mark) Pos {
	if m.file == 0 {
		return Pos{}
	}
	return Pos{f[m.file-1], int(m.line), int(m.col)}
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
	files      files
}

// Add appends an operation that stands at a place in a text.
func (p *Program) Add(op Op, at Pos) {
	op.at = p.files.mark(at)
	p.Ops = append(p.Ops, op)
}

// Pos is where in the program's text one of its operations stands.
func (p *Program) Pos(op *Op) Pos { return p.files.pos(op.at) }

// Error is a mistake in a chunk program, at the program's own line.
type Error struct {
	Pos    Pos
	Msg    string
	NoLink bool // nothing joins the two ranks: the system's doing, not the program's
	Large  bool // more operations than were asked for (SetMost)
	Ops    int  // of a Large one: the program's operations, where that is known
	Wrong  bool // the program runs to its end, and its result is not the collective's
	Unset  bool // nothing has been written to a chunk that is read
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }
