// Package z3 binds libz3 at run time, as thin as can be: no cgo, no headers, and
// where the library is missing an ordinary error. Its shape is go-z3's.
//
//	ctx, err := z3.NewContext(z3.Config{MemoryMB: 512})
//	defer ctx.Close()
//	s := ctx.NewSolver()
//	a, b := ctx.Bool(1), ctx.Bool(2)
//	s.Assert(ctx.AtLeast([]z3.AST{a, ctx.Not(b)}, 1))
//	switch r, err := s.Check(10 * time.Second, nil); r { case z3.True: s.Model().Bool(a) … }
//
// Invariants, each against something libz3 does otherwise:
//   - an error never ends the process: the default handler, which does, is taken
//     out; the first error stays with the context and Check returns it;
//   - an error code is asked for after every call that may set one, and reset
//     before the one (FromString) that leaves the last call's standing;
//   - Ctrl-C stays with Go: a solver is told not to install its own handler;
//   - a zero AST never reaches C, where it would be a crash;
//   - Booleans and enumerations come back in 32 bits: they are cut to that;
//   - an interrupt sent before a check has begun is lost: it is sent again until
//     the check is over, and never outside of one;
//   - strings belong to the library's own buffer: they are copied at once.
//
// A context is for one goroutine at a time and frees its terms when it is
// closed, not before. A crash inside libz3 is a crash of this process: run it in
// one of its own. It checks no model.
package z3
