package lang

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// Span is Count chunks of a rank's buffer: Index, Index+Stride, … The places
// are canonical: collective.Place has been applied. Fields have 32 bits to save
// memory, since a program may have millions of spans.
type Span struct {
	Rank   int32
	Index  int32
	Count  int32
	Stride int32 // 1 where the chunks are contiguous
	Buf    collective.Buffer
}

func (s Span) last() int32 { return s.Index + (s.Count-1)*s.Stride }

// String prints the span as an error names it: rank 3 in[4:6].
func (s Span) String() string {
	return formatSpan(int(s.Rank), s.Buf.String(), int(s.Index), int(s.Count), int(s.Stride))
}

// formatSpan formats chunks for errors, whether or not they exist.
func formatSpan(rank int, buffer string, index, count, stride int) string {
	switch {
	case count == 1:
		return fmt.Sprintf("rank %d %s[%d]", rank, buffer, index)
	case stride == 1:
		return fmt.Sprintf("rank %d %s[%d:%d]", rank, buffer, index, index+count)
	}
	return fmt.Sprintf("rank %d %s[%d:%d:%d]", rank, buffer, index, index+count*stride, stride)
}

// Kind is the effect of an operation on its destination.
type Kind uint8

// The operations of GC3 Table 1.
const (
	Copy   Kind = iota // Dst := Src
	Reduce             // Dst := Dst ⊕ Src
)

// Pos is a position in the program's source text. The zero value is no
// position.
type Pos struct {
	File      string
	Line, Col int
}

// String formats the position as file:line:column, or "-" for none.
func (p Pos) String() string {
	if p.File == "" {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Op is one traced operation. Program.Pos returns its position in the source.
type Op struct {
	Src     Span
	Dst     Span
	Channel int32 // ch=, or -1 for the compiler to choose
	Scope   int32 // index into Program.Scopes; 0 is the whole program
	at      mark
	Kind    Kind
}

// mark is a Pos with a file number instead of a name, so that an Op has no
// pointers.
type mark struct {
	file, line, col int32 // file: 1 + index into the program's files; 0 for none
}

// files are the names of the files that a program's marks refer to.
type files []string

// mark returns the mark of p, and adds its file if it is new.
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

func (f files) pos(m mark) Pos {
	if m.file == 0 {
		return Pos{}
	}
	return Pos{f[m.file-1], int(m.line), int(m.col)}
}

// Scope is a parallelize scope (GC3 section 5.1): its operations are replicated
// Factor times, each on its part of the data, on channels of their own.
type Scope struct {
	Parent int32 // enclosing scope; the program's own is 0
	Factor int   // 1 for the program's own scope
}

// Program is a traced chunk program: the operations in program order, which is
// a topological order of the chunk DAG (GC3 section 4.1).
type Program struct {
	Name       string
	Protocol   string // the only one to run the program with (GC3 section 6.1); empty for any
	Collective collective.Collective
	Ops        []Op
	Scopes     []Scope // Scopes[0] is the whole program
	Scratch    []int   // chunks of scratch, by rank
	files      files
}

// Add appends an operation at a position in the source.
func (p *Program) Add(op Op, at Pos) {
	op.at = p.files.mark(at)
	p.Ops = append(p.Ops, op)
}

// Pos returns the position of one of the program's operations in the source.
func (p *Program) Pos(op *Op) Pos { return p.files.pos(op.at) }

// Error is a mistake in a chunk program, at a position in its source.
type Error struct {
	Pos    Pos
	Msg    string
	NoLink bool // the two ranks are not linked: a property of the system, not a mistake
	Peers  bool // a rank sends to more ranks than SetMaxPeers allows
	Large  bool // more operations than SetMaxOps allows
	Ops    int  // if Large: the program's number of operations, or 0 if unknown
	Wrong  bool // the program completes with a wrong result
	Unset  bool // an uninitialised chunk is read
}

// Error gives file:line:column: message.
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }
