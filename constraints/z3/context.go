package z3

import (
	"fmt"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Config is what a context is made with.
type Config struct {
	// Seed of the solver's random choices. The same seed and the same terms in
	// the same order give the same model.
	Seed int
}

// Context holds terms and solvers. Its first error stays: builders return the
// zero AST from then on, and Check and Err return it.
type Context struct {
	handle uintptr
	sort   uintptr // of Booleans
	seed   int
	err    error
}

// AST is a Boolean term of the context that made it. The zero AST is none.
type AST struct{ handle uintptr }

// Error is what libz3 refused.
type Error struct {
	Function string
	Code     int
	Message  string
}

func (e *Error) Error() string { return fmt.Sprintf("libz3: %s: %s", e.Function, e.Message) }

// memoutCode is the library's code for memory that ran out.
const memoutCode = 7

// OutOfMemory tells whether the cap of SetMemory was met.
func (e *Error) OutOfMemory() bool { return e.Code == memoutCode }

// NewContext makes a context; Close it.
func NewContext(c Config) (*Context, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	config := dynlib.Call(lib.Mk_config)
	defer dynlib.Call(lib.Del_config, config)
	handle := dynlib.Call(lib.Mk_context, config)
	if handle == 0 {
		return nil, &Error{"mk_context", memoutCode, "no context"}
	}
	ctx := &Context{handle: handle, seed: c.Seed}
	dynlib.Call(lib.Set_error_handler, handle, 0)
	ctx.sort = ctx.call("mk_bool_sort", lib.Mk_bool_sort)
	if ctx.err != nil {
		err := ctx.err
		ctx.Close()
		return nil, err
	}
	return ctx, nil
}

// Close frees the context and all that was made in it.
func (c *Context) Close() {
	if c.handle != 0 {
		dynlib.Call(lib.Del_context, c.handle)
		c.handle = 0
	}
}

// Err is the context's first error.
func (c *Context) Err() error { return c.err }

// call calls a function whose first argument is the context and keeps its
// error. It does nothing after one, and returns 0.
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

// reset clears the library's own error code, which some functions leave as the
// last one set it.
func (c *Context) reset() { dynlib.Call(lib.Mk_true, c.handle) }

// given tells whether all terms are terms; a zero one becomes the error.
func (c *Context) given(name string, terms ...AST) bool {
	for _, t := range terms {
		if t.handle == 0 && c.err == nil {
			c.err = &Error{name, -1, "a term that is none"}
		}
	}
	return c.err == nil
}

// list is the address of the first of the terms, for C to read during a call.
func list(terms []AST) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(terms)) }

// Bool is the variable of a number: the same number, the same variable.
func (c *Context) Bool(number int) AST {
	symbol := c.call("mk_int_symbol", lib.Mk_int_symbol, uintptr(number))
	return AST{c.call("mk_const", lib.Mk_const, symbol, c.sort)}
}

// Value is a constant.
func (c *Context) Value(v bool) AST {
	if v {
		return AST{c.call("mk_true", lib.Mk_true)}
	}
	return AST{c.call("mk_false", lib.Mk_false)}
}

// Not is the negation.
func (c *Context) Not(a AST) AST {
	if !c.given("mk_not", a) {
		return AST{}
	}
	return AST{c.call("mk_not", lib.Mk_not, a.handle)}
}

// And holds where all do; of none, it holds.
func (c *Context) And(terms ...AST) AST {
	if !c.given("mk_and", terms...) {
		return AST{}
	}
	return AST{c.call("mk_and", lib.Mk_and, uintptr(len(terms)), uintptr(list(terms)))}
}

// Or holds where one does; of none, it does not hold.
func (c *Context) Or(terms ...AST) AST {
	if !c.given("mk_or", terms...) {
		return AST{}
	}
	return AST{c.call("mk_or", lib.Mk_or, uintptr(len(terms)), uintptr(list(terms)))}
}

// AtLeast holds where k of the terms do.
func (c *Context) AtLeast(terms []AST, k int) AST {
	if len(terms) == 0 || k <= 0 { // the library takes neither
		return c.Value(k <= 0)
	}
	return c.cardinality("mk_atleast", lib.Mk_atleast, terms, k)
}

// AtMost holds where no more than k of the terms do.
func (c *Context) AtMost(terms []AST, k int) AST {
	if len(terms) == 0 || k < 0 {
		return c.Value(k >= 0)
	}
	return c.cardinality("mk_atmost", lib.Mk_atmost, terms, k)
}

func (c *Context) cardinality(name string, f dynlib.Symbol, terms []AST, k int) AST {
	if !c.given(name, terms...) {
		return AST{}
	}
	return AST{c.call(name, f, uintptr(len(terms)), uintptr(list(terms)), uintptr(k))}
}

// SumAtLeast holds where the weights of the terms that hold add up to k.
func (c *Context) SumAtLeast(terms []AST, weights []int32, k int32) AST {
	return c.sum("mk_pbge", lib.Mk_pbge, terms, weights, k)
}

// SumAtMost holds where they add up to no more than k.
func (c *Context) SumAtMost(terms []AST, weights []int32, k int32) AST {
	return c.sum("mk_pble", lib.Mk_pble, terms, weights, k)
}

// SumExactly holds where they add up to k.
func (c *Context) SumExactly(terms []AST, weights []int32, k int32) AST {
	return c.sum("mk_pbeq", lib.Mk_pbeq, terms, weights, k)
}

func (c *Context) sum(name string, f dynlib.Symbol, terms []AST, weights []int32, k int32) AST {
	if !c.given(name, terms...) {
		return AST{}
	}
	if len(weights) != len(terms) || len(terms) == 0 {
		c.err = &Error{name, -1, fmt.Sprintf("%d weights for %d terms: want as many, and one at least", len(weights), len(terms))}
		return AST{}
	}
	return AST{c.call(name, f, uintptr(len(terms)), uintptr(list(terms)),
		uintptr(unsafe.Pointer(unsafe.SliceData(weights))), uintptr(uint32(k)))}
}
