package script

import (
	"errors"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/colltune/colltune/compiler/lang"
)

// Error is a mistake in a template, with its position.
type Error struct {
	Pos   lang.Pos
	Msg   string
	cause error
}

// Error begins with the file, line and column.
func (e *Error) Error() string {
	if e.Pos.Line == 0 {
		return e.Pos.File + ": " + e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Unwrap returns the underlying error: a *lang.Error, if the chunk language found the
// mistake.
func (e *Error) Unwrap() error { return e.cause }

// maxMessage limits how much of a template's own message is shown, in bytes.
const maxMessage = 4 << 10

// builtinFile is Starlark's name for the file of functions written in Go.
const builtinFile = "<builtin>"

func position(p syntax.Position) lang.Pos {
	return lang.Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}

// asError converts any error from loading or running a file to an Error, or to
// several if the resolver found more than one unknown name.
func asError(file string, err error) error {
	if err == nil {
		return nil
	}
	var ours *Error
	if errors.As(err, &ours) {
		return ours
	}
	var traced *lang.Error
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		e := &Error{Pos: lang.Pos{File: file}, Msg: strings.TrimPrefix(eval.Msg, "Starlark computation cancelled: ")}
		if len(e.Msg) > maxMessage {
			e.Msg = strings.ToValidUTF8(e.Msg[:maxMessage], "") + "…"
		}
		for _, fr := range eval.CallStack {
			if fr.Pos.Filename() != builtinFile {
				e.Pos = position(fr.Pos) // of the innermost call
			}
		}
		if errors.As(eval, &traced) {
			e.Msg, e.cause = traced.Msg, traced
		}
		return e
	}
	if errors.As(err, &traced) {
		e := &Error{Pos: traced.Pos, Msg: traced.Msg, cause: traced}
		if e.Pos.File == "" {
			e.Pos.File = file
		}
		return e
	}
	var bad syntax.Error
	if errors.As(err, &bad) {
		return &Error{Pos: position(bad.Pos), Msg: bad.Msg + pythonHint(bad.Msg)}
	}
	var unresolved resolve.ErrorList
	if errors.As(err, &unresolved) {
		all := make([]error, len(unresolved))
		for i, u := range unresolved {
			all[i] = &Error{Pos: position(u.Pos), Msg: u.Msg + pythonHint(u.Msg) + similarName(u.Msg)}
		}
		return errors.Join(all...)
	}
	return &Error{Pos: lang.Pos{File: file}, Msg: err.Error(), cause: err}
}
