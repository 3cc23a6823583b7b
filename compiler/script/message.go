package script

import (
	"encoding/binary"
	"errors"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// A worker is a child process that evaluates one template. The parent asks, in JSON;
// the child sends frames, of which the first byte is the kind, until its answer:
//
//	parent                              child
//	  │ ask                    ──▶         the template's text, or a call of a function
//	  │                        ◀──  print  what it prints
//	  │ links of a rank        ◀─▶  links  which ranks it is linked to, when the template asks
//	  │ tells where it is      ◀──  at     only if the ask wants every line
//	  │ makes a trace          ◀──  begin  of a program: its collective
//	  │ replays the operations ◀──  ops    some operations (lang.Record)
//	  │                        ◀──  answer the result, or the errors
const (
	framePrint  = 'p' // text
	frameLinks  = 'l' // three varints: rank, first, n; the parent replies with a bit for each of the ranks from first on
	frameAt     = '@' // two varints, line and column, and the file's name
	frameBegin  = 'b' // JSON of beginning
	frameOps    = 'o' // a piece of a lang.Record
	frameAnswer = 'a' // JSON of answer
)

const (
	maxFrame = 64 << 20 // bytes; the largest is the table of a custom collective
	maxLinks = 1 << 12  // links in a frame
	pieceOps = 1 << 10  // operations in a frame
)

type ask struct {
	Function string `json:"function"` // load, trace, or one that a program evaluates
	Lines    bool   `json:"lines,omitempty"`

	// Of load.
	File    string            `json:"file,omitempty"`
	Source  []byte            `json:"source,omitempty"`
	Library map[string]string `json:"library,omitempty"`
	Limits  limits            `json:"limits,omitzero"`

	// Of the others.
	GPUs    []int          `json:"gpus,omitempty"`   // by node
	Linked  bool           `json:"linked,omitempty"` // every two ranks are
	Same    bool           `json:"same,omitempty"`   // the machine of the ask before: its links are known
	Request Request        `json:"request,omitzero"`
	Params  map[string]any `json:"params,omitempty"`
	Budget  budgetLeft     `json:"budget,omitzero"`
}

// beginning says of what collective a program is.
type beginning struct {
	Chunks int               `json:"chunks"`
	Table  *collective.Table `json:"table,omitempty"`
}

// answer is the child's result.
type answer struct {
	Errors []fault `json:"errors,omitempty"`
	Stuck  bool    `json:"stuck,omitempty"` // the function could not be stopped, and the child ends

	Declared *declaration `json:"declared,omitempty"` // of load
	End      lang.Pos     `json:"end,omitzero"`       // of a trace: where the program was last
	Steps    uint64       `json:"steps,omitempty"`    // spent of the budget
	result                // of the other functions
}

type fault struct {
	Pos   lang.Pos    `json:"pos"`
	Msg   string      `json:"msg"`
	Cause *lang.Error `json:"cause,omitempty"`
}

func faultsOf(err error) (all []fault) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			all = append(all, faultsOf(one)...)
		}
		return all
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Msg: err.Error()}
	}
	f := fault{Pos: e.Pos, Msg: e.Msg}
	errors.As(e.cause, &f.Cause)
	return []fault{f}
}

// errorOf returns the error of faults; nil if there are none.
func errorOf(file string, faults []fault) error {
	var all []error
	for _, f := range faults {
		e := &Error{Pos: f.Pos, Msg: f.Msg}
		if e.Pos.File == "" {
			e.Pos.File = file
		}
		if f.Cause != nil {
			e.cause = f.Cause
		}
		all = append(all, e)
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

func appendAt(b []byte, p lang.Pos) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.Line)), uint64(p.Col))
	return append(b, p.File...)
}

// numbers reads n varints of at most 31 bits, and returns them with the rest.
func numbers(b []byte, n int) (all []int, rest []byte, ok bool) {
	for range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<31-1 {
			return nil, nil, false
		}
		all, b = append(all, int(v)), b[size:]
	}
	return all, b, true
}
