package script

import (
	"fmt"

	"go.starlark.net/syntax"
)

// Starlark counts steps, not sizes: sixty doublings a = a + a, or one call of
// join, can exhaust memory within one step, and one == can take for ever. So
// before a file is compiled, its operators + * % << and comparisons, and its
// operations on values that can be large, are replaced by calls of guarded ones
// (guarded.go), whose names are no valid identifiers. They stay if an operand
// is obviously a number, and in a file that is the caller's own (Options.Own).
//
//	a + b     →  «+»(a, b)          x.join(y)   →  «join»(x)(y)
//	a += b    →  a += «part»(b, a)  a *= b      →  a = «*»(a, b)
//	a[i:j]    →  «made»(a[i:j])     d.items()   →  «made»(d.items())
//	a == b    →  «==»(a, b)         x.index(y)  →  «walk»(x).index(y)
//	(a, b)    →  «tuple»(a, b)

// unsupported lists operations that templates may not use.
var unsupported = map[string]string{
	"replace": "strings have no replace in templates",
	"format":  "strings have no format in templates: use %",
	"extend":  "lists have no extend in templates: use +=",
}

// rewriter replaces the operators of a file by guarded calls.
type rewriter struct{ err error }

// guardFile rewrites a parsed file. It returns an error if the file uses an
// operation that templates may not use.
func guardFile(f *syntax.File) error {
	w := &rewriter{}
	w.stmts(f.Stmts)
	return w.err
}

func (w *rewriter) fail(at syntax.Position, msg string) {
	if w.err == nil {
		w.err = &Error{Pos: position(at), Msg: msg}
	}
}

func (w *rewriter) stmts(list []syntax.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			w.target(s.LHS)
			w.exprs(&s.RHS)
			w.assign(s)
		case *syntax.DefStmt:
			w.params(s.Params)
			w.stmts(s.Body)
			if name := rest(s.Params); name != nil {
				s.Body = append([]syntax.Stmt{collected(name)}, s.Body...)
			}
		case *syntax.ExprStmt:
			w.exprs(&s.X)
		case *syntax.IfStmt:
			w.exprs(&s.Cond)
			w.stmts(s.True)
			w.stmts(s.False)
		case *syntax.ForStmt:
			w.target(s.Vars)
			w.exprs(&s.X)
			w.stmts(s.Body)
		case *syntax.ReturnStmt:
			w.exprs(&s.Result)
		}
	}
}

// assign guards the operator of an augmented assignment.
func (w *rewriter) assign(s *syntax.AssignStmt) {
	switch s.Op {
	case syntax.PLUS_EQ:
		if isNumber(s.RHS) {
			return
		}
		args := []syntax.Expr{s.RHS}
		if name, ok := s.LHS.(*syntax.Ident); ok {
			read := *name
			args = append(args, &read)
		}
		s.RHS = calling("«part»", s.OpPos, args...)
	case syntax.STAR_EQ, syntax.PERCENT_EQ, syntax.LTLT_EQ:
		name, ok := s.LHS.(*syntax.Ident)
		if !ok {
			w.fail(s.OpPos, fmt.Sprintf("%v is for names only in templates: write x = x %s …", s.Op, guarded[s.Op][len("«"):len(guarded[s.Op])-len("»")]))
			return
		}
		read := *name
		s.RHS, s.Op = calling(guarded[s.Op], s.OpPos, &read, s.RHS), syntax.EQ
	}
}

// target rewrites the expressions within the target of an assignment, but not the
// target itself.
func (w *rewriter) target(e syntax.Expr) {
	switch x := e.(type) {
	case *syntax.ParenExpr:
		w.target(x.X)
	case *syntax.TupleExpr:
		for _, y := range x.List {
			w.target(y)
		}
	case *syntax.ListExpr:
		for _, y := range x.List {
			w.target(y)
		}
	case *syntax.IndexExpr:
		w.exprs(&x.X, &x.Y)
	case *syntax.DotExpr:
		w.exprs(&x.X)
	}
}

// rest returns the parameter that takes all further arguments, or nil if there
// is none.
func rest(params []syntax.Expr) *syntax.Ident {
	for _, p := range params {
		if star, ok := p.(*syntax.UnaryExpr); ok && star.Op == syntax.STAR {
			if name, ok := star.X.(*syntax.Ident); ok {
				return name
			}
		}
	}
	return nil
}

// collected returns args = «tuple»(*args), which checks the tuple of a
// function's further arguments.
func collected(name *syntax.Ident) syntax.Stmt {
	read, write := *name, *name
	all := &syntax.UnaryExpr{OpPos: name.NamePos, Op: syntax.STAR, X: &read}
	return &syntax.AssignStmt{OpPos: name.NamePos, Op: syntax.EQ, LHS: &write, RHS: calling("«tuple»", name.NamePos, all)}
}

// params rewrites the default values of a function's parameters.
func (w *rewriter) params(list []syntax.Expr) {
	for _, p := range list {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			w.exprs(&b.Y)
		}
	}
}

// exprs rewrites expressions, innermost first; nil ones are skipped.
func (w *rewriter) exprs(list ...*syntax.Expr) {
	for _, e := range list {
		w.parts(*e)
		w.refuse(*e)
		*e = guard(*e)
	}
}

func (w *rewriter) each(list []syntax.Expr) {
	for i := range list {
		w.exprs(&list[i])
	}
}

// parts rewrites the parts of an expression.
func (w *rewriter) parts(e syntax.Expr) {
	switch x := e.(type) {
	case *syntax.ParenExpr:
		w.exprs(&x.X)
	case *syntax.UnaryExpr:
		w.exprs(&x.X)
	case *syntax.BinaryExpr:
		if x.Op != syntax.EQ { // name=value of a call
			w.exprs(&x.X)
		}
		w.exprs(&x.Y)
	case *syntax.CallExpr:
		w.exprs(&x.Fn)
		w.each(x.Args)
	case *syntax.DotExpr:
		w.exprs(&x.X)
	case *syntax.IndexExpr:
		w.exprs(&x.X, &x.Y)
	case *syntax.SliceExpr:
		w.exprs(&x.X, &x.Lo, &x.Hi, &x.Step)
	case *syntax.CondExpr:
		w.exprs(&x.Cond, &x.True, &x.False)
	case *syntax.ListExpr:
		w.each(x.List)
	case *syntax.TupleExpr:
		w.each(x.List)
	case *syntax.DictExpr:
		w.each(x.List)
	case *syntax.DictEntry:
		w.exprs(&x.Key, &x.Value)
	case *syntax.LambdaExpr:
		w.params(x.Params)
		w.exprs(&x.Body)
	case *syntax.Comprehension:
		w.exprs(&x.Body)
		w.clauses(x.Clauses)
	}
}

// clauses rewrites the clauses of a comprehension.
func (w *rewriter) clauses(list []syntax.Node) {
	for _, c := range list {
		switch c := c.(type) {
		case *syntax.ForClause:
			w.target(c.Vars)
			w.exprs(&c.X)
		case *syntax.IfClause:
			w.exprs(&c.Cond)
		}
	}
}

// refuse records an error if an expression uses an operation that templates do
// without.
func (w *rewriter) refuse(e syntax.Expr) {
	switch x := e.(type) {
	case *syntax.DotExpr:
		if why, ok := unsupported[x.Name.Name]; ok {
			w.fail(x.Name.NamePos, why)
		}
	case *syntax.LambdaExpr:
		if name := rest(x.Params); name != nil {
			w.fail(name.NamePos, "lambda takes no *args in templates: write a def")
		}
	case *syntax.Ident:
		if x.Name == "getattr" {
			w.fail(x.NamePos, "there is no getattr in templates: write x.name")
		}
	}
}
