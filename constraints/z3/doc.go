// Package z3 binds libz3 at run time: no cgo, no headers, and an ordinary error if
// the library is missing. Its interface follows go-z3's.
//
//	ctx, err := z3.NewContext()
//	defer ctx.Close()
//	s := ctx.NewSolver()
//	a, b := ctx.Bool(1), ctx.Bool(2)
//	s.Assert(ctx.AtLeast([]z3.AST{a, ctx.Not(b)}, 1))
//	switch r, err := s.Check(ctx); r { case z3.True: s.Model().Bool(a) … }
//
// Pitfalls of libz3, and what this package does about them:
//   - its default error handler ends the process: the handler is removed; the first
//     error stays with the context, and Check returns it;
//   - most functions set an error code: it is read after every call;
//   - it installs a handler for SIGINT: solvers are told not to;
//   - it crashes on a null AST: a zero AST is an error here;
//   - Booleans and enumerations are 32 bits wide: results are truncated to that;
//   - it ignores an interrupt sent before a check has begun: the interrupt is
//     repeated until the check ends, and never sent outside of one;
//   - strings live in a buffer that the next call overwrites: they are copied.
//
// A context is for one goroutine at a time and frees its terms when it is closed,
// not before. A crash inside libz3 crashes the process, so run it in a child
// process. It checks no model.
package z3
