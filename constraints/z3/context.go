package z3

import (
	"fmt"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Context owns terms and solvers. After its first error, builders return the zero
// AST, and Check and Err return that error.
type Context struct {
	handle uintptr
	sort   uintptr // of Booleans
	err    error
}

// AST is a Boolean term, owned by the context that made it. The zero AST is invalid.
type AST struct{ handle uintptr }

// Error is an error of libz3.
type Error struct {
	Function string // without the leading Z3_
	Code     int    // Z3_error_code; -1 for errors found before the call
	Message  string
}

// Error is libz3's message.
func (e *Error) Error() string { return fmt.Sprintf("libz3: %s: %s", e.Function, e.Message) }

// outOfMemoryCode is Z3_MEMOUT_FAIL.
const outOfMemoryCode = 7

// OutOfMemory reports whether the limit of SetMemory was met.
func (e *Error) OutOfMemory() bool { return e.Code == outOfMemoryCode }

// NewContext makes a context, which the caller must close. The error is Open's or an
// *Error.
func NewContext() (*Context, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	config := dynlib.Call(lib.Mk_config)
	defer dynlib.Call(lib.Del_config, config)
	handle := dynlib.Call(lib.Mk_context, config)
	if handle == 0 {
		return nil, &Error{"mk_context", outOfMemoryCode, "no context"}
	}
	ctx := &Context{handle: handle}
	dynlib.Call(lib.Set_error_handler, handle, 0)
	ctx.sort = ctx.call("mk_bool_sort", lib.Mk_bool_sort)
	if ctx.err != nil {
		err := ctx.err
		ctx.Close()
		return nil, err
	}
	return ctx, nil
}

// Close frees the context with its terms and solvers.
func (c *Context) Close() {
	if c.handle != 0 {
		dynlib.Call(lib.Del_context, c.handle)
		c.handle = 0
	}
}

// Err returns the context's first error, or nil.
func (c *Context) Err() error { return c.err }

// call calls a function whose first argument is the context, and stores its error.
// After an error it does nothing and returns 0.
//
//go:uintptrescapes
func (c *Context) call(name string, f dynlib.Symbol, args ...uintptr) uintptr {
	if c.err != nil {
		return 0
	}
	if c.handle == 0 {
		c.err = &Error{name, -1, "the context is closed"}
		return 0
	}
	var all [8]uintptr
	all[0] = c.handle
	n := copy(all[1:], args)
	r := dynlib.Call(f, all[:n+1]...)
	c.check(name)
	if c.err != nil {
		return 0
	}
	return r
}

func (c *Context) check(name string) {
	code := int32(dynlib.Call(lib.Get_error_code, c.handle))
	if code != 0 {
		c.err = &Error{name, int(code), dynlib.GoString(dynlib.Call(lib.Get_error_msg, c.handle, uintptr(code)), 2000)}
	}
}

// checkTerms reports whether the context has no error and no term is zero; a zero
// term is an error.
func (c *Context) checkTerms(name string, terms ...AST) bool {
	for _, t := range terms {
		if t.handle == 0 && c.err == nil {
			c.err = &Error{name, -1, "invalid term"}
		}
	}
	return c.err == nil
}

// firstTerm returns the address of the first term, for C to read during a call.
func firstTerm(terms []AST) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(terms)) }

// Bool returns the Boolean variable with a number. The same number gives the same
// variable.
func (c *Context) Bool(number int) AST {
	symbol := c.call("mk_int_symbol", lib.Mk_int_symbol, uintptr(number))
	return AST{c.call("mk_const", lib.Mk_const, symbol, c.sort)}
}

// Value returns the constant true or false.
func (c *Context) Value(v bool) AST {
	if v {
		return AST{c.call("mk_true", lib.Mk_true)}
	}
	return AST{c.call("mk_false", lib.Mk_false)}
}

// Not returns the negation of a term.
func (c *Context) Not(a AST) AST {
	if !c.checkTerms("mk_not", a) {
		return AST{}
	}
	return AST{c.call("mk_not", lib.Mk_not, a.handle)}
}

// Or returns the disjunction of the terms; of none, false.
func (c *Context) Or(terms ...AST) AST {
	if !c.checkTerms("mk_or", terms...) {
		return AST{}
	}
	return AST{c.call("mk_or", lib.Mk_or, uintptr(len(terms)), uintptr(firstTerm(terms)))}
}

// AtLeast returns a term that holds if k or more of the terms do.
func (c *Context) AtLeast(terms []AST, k int) AST {
	if len(terms) == 0 || k <= 0 { // libz3 rejects both
		return c.Value(k <= 0)
	}
	if !c.checkTerms("mk_atleast", terms...) {
		return AST{}
	}
	return AST{c.call("mk_atleast", lib.Mk_atleast, uintptr(len(terms)), uintptr(firstTerm(terms)), uintptr(k))}
}

// SumAtLeast returns a term that holds if the weights of the terms that hold add up
// to k or more. There must be as many weights as terms, and at least one.
func (c *Context) SumAtLeast(terms []AST, weights []int32, k int32) AST {
	const name = "mk_pbge"
	if !c.checkTerms(name, terms...) {
		return AST{}
	}
	if len(weights) != len(terms) || len(terms) == 0 {
		c.err = &Error{name, -1, fmt.Sprintf("%d weights for %d terms: want as many of each, and at least one", len(weights), len(terms))}
		return AST{}
	}
	return AST{c.call(name, lib.Mk_pbge, uintptr(len(terms)), uintptr(firstTerm(terms)),
		uintptr(unsafe.Pointer(unsafe.SliceData(weights))), uintptr(uint32(k)))}
}
