package topologies

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/lists"
)

// Error is one fault of a topology file.
type Error struct {
	File string
	Line int    // 1-based; 0 if the fault is at no line
	Key  string // dotted, node.link[2].bandwidth; empty for syntax
	Msg  string
}

// Error gives file:line: key: message, without the parts that are not known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	return b.String() + ": " + e.Msg
}

// ErrorList is all faults of a topology file, in the order of their lines. It
// is never empty.
type ErrorList []*Error

// Error gives all errors, a line each.
func (l ErrorList) Error() string {
	return strings.Join(lists.Map(l, (*Error).Error), "\n")
}

// Unwrap returns the errors, for errors.As.
func (l ErrorList) Unwrap() []error {
	return lists.Map(l, func(e *Error) error { return e })
}
