package script

import (
	"fmt"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Starlark counts steps, not sizes: sixty times a = a + a, or one call of
// join, takes all memory before anyone could stop it. So before a file is
// compiled its operators + * % and the operations on strings that can blow up
// are turned into calls of the guarded ones below, whose names no template can
// spell. Where an operand is plainly a number they are left alone.
//
//	a + b     →  «+»(a, b)         x.join(y)  →  «join»(x)(y)
//	a += b    →  a += «part»(b)    a *= b     →  a = «*»(a, b)
//	a[i:j]    →  «made»(a[i:j])    d.items()  →  «made»(d.items())
//
// What these and the builtins that build lists make is also counted, all of it
// together, so that many large values come to an end as surely as one.

// The largest values a template can make.
const (
	maxText   = 1 << 20 // bytes of a string
	maxList   = 1 << 22 // elements of a list or tuple
	maxBits   = 4096    // of a number
	maxFormat = 1 << 12 // bytes of a format string
	maxWeight = 1 << 20 // of a value turned into text
	madePerOp = 64      // elements of values that an operation traced allows, beyond limits.made
)

// guards are the guarded operations, by the names the rewriting gives them.
var guards = starlark.StringDict{
	"«+»":    starlark.NewBuiltin("+", guardedAdd),
	"«*»":    starlark.NewBuiltin("*", guardedMultiply),
	"«%»":    starlark.NewBuiltin("%", guardedRemainder),
	"«part»": starlark.NewBuiltin("+=", guardedPart),
	"«join»": starlark.NewBuiltin("join", guardedJoin),
	"«made»": starlark.NewBuiltin("made", guardedResult),
	"str":    guardedText("str"),
	"repr":   guardedText("repr"),
	"print":  guardedText("print"),
	"fail":   guardedText("fail"),
}

// makers are the builtins of Starlark's that build as much as they are given.
var makers = []string{"dict", "enumerate", "list", "reversed", "set", "sorted", "tuple", "zip"}

// copies are the methods whose results are as large as what they are called on,
// or the arguments.
var copies = map[string]bool{
	"capitalize": true, "lower": true, "title": true, "upper": true, "split": true, "rsplit": true, "splitlines": true,
	"items": true, "keys": true, "values": true,
	"difference": true, "intersection": true, "symmetric_difference": true, "union": true,
}

// guarded are the operators that are turned into calls.
var guarded = map[syntax.Token]string{
	syntax.PLUS: "«+»", syntax.STAR: "«*»", syntax.PERCENT: "«%»",
	syntax.STAR_EQ: "«*»", syntax.PERCENT_EQ: "«%»",
}

// absent are operations that templates do without.
var absent = map[string]string{
	"replace": "strings have no replace in templates",
	"format":  "strings have no format in templates: use %",
	"extend":  "lists have no extend in templates: use +=",
}

// rewriter turns the operators of a file into guarded calls.
type rewriter struct{ err error }

// guardFile rewrites a parsed file; it is an error where the file uses what
// templates do without.
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
			w.exprs(&s.LHS, &s.RHS)
			w.assign(s)
		case *syntax.DefStmt:
			w.params(s.Params)
			w.stmts(s.Body)
		case *syntax.ExprStmt:
			w.exprs(&s.X)
		case *syntax.IfStmt:
			w.exprs(&s.Cond)
			w.stmts(s.True)
			w.stmts(s.False)
		case *syntax.ForStmt:
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
		if !isNumber(s.RHS) {
			s.RHS = calling("«part»", s.OpPos, s.RHS)
		}
	case syntax.STAR_EQ, syntax.PERCENT_EQ:
		name, ok := s.LHS.(*syntax.Ident)
		if !ok {
			w.fail(s.OpPos, fmt.Sprintf("%v is for names only in templates: write x = x %s …", s.Op, guarded[s.Op][len("«"):len(guarded[s.Op])-len("»")]))
			return
		}
		read := *name
		s.RHS, s.Op = calling(guarded[s.Op], s.OpPos, &read, s.RHS), syntax.EQ
	}
}

// params rewrites the default values of a function's parameters.
func (w *rewriter) params(list []syntax.Expr) {
	for _, p := range list {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			w.exprs(&b.Y)
		}
	}
}

// exprs rewrites expressions, innermost first; absent ones are nil.
func (w *rewriter) exprs(list ...*syntax.Expr) {
	for _, e := range list {
		switch x := (*e).(type) {
		case *syntax.ParenExpr:
			w.exprs(&x.X)
		case *syntax.UnaryExpr:
			w.exprs(&x.X)
		case *syntax.BinaryExpr:
			if x.Op != syntax.EQ { // name=value of a call
				w.exprs(&x.X)
			}
			w.exprs(&x.Y)
			if name, ok := guarded[x.Op]; ok && !harmless(x) {
				*e = calling(name, x.OpPos, x.X, x.Y)
			} else if x.Op == syntax.PIPE && !isNumber(x.X) && !isNumber(x.Y) {
				*e = calling("«made»", x.OpPos, x)
			}
		case *syntax.CallExpr:
			method, _ := x.Fn.(*syntax.DotExpr)
			w.exprs(&x.Fn)
			w.each(x.Args)
			if method != nil && copies[method.Name.Name] {
				*e = calling("«made»", x.Lparen, x)
			}
		case *syntax.DotExpr:
			w.exprs(&x.X)
			if why, ok := absent[x.Name.Name]; ok {
				w.fail(x.Name.NamePos, why)
			}
			if x.Name.Name == "join" {
				*e = calling("«join»", x.Name.NamePos, x.X)
			}
		case *syntax.IndexExpr:
			w.exprs(&x.X, &x.Y)
		case *syntax.SliceExpr:
			w.exprs(&x.X, &x.Lo, &x.Hi, &x.Step)
			*e = calling("«made»", x.Lbrack, x)
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
			for _, c := range x.Clauses {
				switch c := c.(type) {
				case *syntax.ForClause:
					w.exprs(&c.X)
				case *syntax.IfClause:
					w.exprs(&c.Cond)
				}
			}
		case *syntax.Ident:
			if x.Name == "getattr" {
				w.fail(x.NamePos, "there is no getattr in templates: write x.name")
			}
		}
	}
}

func (w *rewriter) each(list []syntax.Expr) {
	for i := range list {
		w.exprs(&list[i])
	}
}

// calling is name(args…), standing where an operator stood.
func calling(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}

// harmless tells whether an operator has plainly small results: a sum of a
// number, the remainder of one.
func harmless(x *syntax.BinaryExpr) bool {
	switch x.Op {
	case syntax.PLUS:
		return isNumber(x.X) || isNumber(x.Y)
	case syntax.PERCENT:
		return isNumber(x.X)
	}
	return false
}

// isNumber tells whether an expression, if it has a value at all, is plainly a
// number.
func isNumber(e syntax.Expr) bool {
	switch x := e.(type) {
	case *syntax.Literal:
		return x.Token == syntax.INT || x.Token == syntax.FLOAT
	case *syntax.ParenExpr:
		return isNumber(x.X)
	case *syntax.BinaryExpr:
		switch x.Op {
		case syntax.SLASHSLASH, syntax.SLASH, syntax.LTLT, syntax.GTGT:
			return true
		case syntax.PLUS, syntax.MINUS, syntax.PERCENT:
			return isNumber(x.X) || x.Op != syntax.PERCENT && isNumber(x.Y)
		}
	case *syntax.CallExpr:
		id, ok := x.Fn.(*syntax.Ident)
		return ok && id.Name == "len"
	}
	return false
}

// size is the length of what grows by + and *, and what it may grow to.
func size(v starlark.Value) (n, most int, what string) {
	switch v := v.(type) {
	case starlark.String:
		return len(v), maxText, "string"
	case starlark.Bytes:
		return len(v), maxText, "string"
	case *starlark.List:
		return v.Len(), maxList, "list"
	case starlark.Tuple:
		return len(v), maxList, "tuple"
	}
	return 0, 0, ""
}

func tooLarge(what string, n, most int) error {
	return fmt.Errorf("a %s of %d: want at most %d", what, n, most)
}

// made counts elements that a session's values take.
func made(th *starlark.Thread, elements int) error {
	s := sessionOf(th)
	if s.made += elements; s.made > s.limits.made+madePerOp*int(s.ops.Load()) {
		return fmt.Errorf("strings and lists of more than %d elements in all", s.limits.made)
	}
	return nil
}

func guardedAdd(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	if n, most, what := size(x); most > 0 {
		if more, _, _ := size(y); n+more > most {
			return nil, tooLarge(what, n+more, most)
		} else if err := made(th, n+more); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.PLUS, x, y)
}

func guardedMultiply(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	a, aNumber := x.(starlark.Int)
	b, bNumber := y.(starlark.Int)
	switch {
	case aNumber && bNumber:
		if large(a) || large(b) {
			if bits := a.BigInt().BitLen() + b.BigInt().BitLen(); bits > maxBits {
				return nil, fmt.Errorf("a number of %d bits: want at most %d", bits, maxBits)
			}
		}
	case aNumber || bNumber:
		times, of := a, y
		if bNumber {
			times, of = b, x
		}
		if n, most, what := size(of); n > 0 {
			k, ok := times.Int64()
			if !ok || k > int64(most/n) {
				return nil, fmt.Errorf("a %s of %d, %v times: want at most %d in all", what, n, times, most)
			}
			if err := made(th, n*int(max(k, 0))); err != nil {
				return nil, err
			}
		}
	}
	return starlark.Binary(syntax.STAR, x, y)
}

// large tells whether a number needs more than 64 bits.
func large(n starlark.Int) bool {
	_, ok := n.Int64()
	return !ok
}

func guardedRemainder(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if format, ok := args[0].(starlark.String); ok {
		if len(format) > maxFormat {
			return nil, tooLarge("format string", len(format), maxFormat)
		}
		if err := light(args[1]); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.PERCENT, args[0], args[1])
}

// guardedResult is what an operation has made of values that were there, of
// which each is of a size that is bounded.
func guardedResult(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	elements := starlark.Len(args[0])
	if _, ok := args[0].(starlark.String); ok {
		elements /= 16 // bytes, where an element of a list takes two words
	}
	return args[0], made(th, max(elements, 0))
}

// guardedPart is what += adds: as much as it likes, but not at once.
func guardedPart(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if n, _, what := size(args[0]); n > maxText {
		return nil, fmt.Errorf("+= of %w", tooLarge(what, n, maxText))
	} else if err := made(th, n); err != nil {
		return nil, err
	}
	return args[0], nil
}

// guardedJoin is the join of a string, with what it joins looked at first.
func guardedJoin(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	of, ok := args[0].(starlark.String)
	if !ok {
		return nil, fmt.Errorf("%s has no join", kindOf(args[0]))
	}
	join, err := of.Attr("join")
	if err != nil {
		return nil, err
	}
	return starlark.NewBuiltin("join", func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) == 1 {
			if err := light(args[0]); err != nil {
				return nil, err
			}
			if n := starlark.Len(args[0]); n > 0 && len(of) > maxText/n {
				return nil, fmt.Errorf("%d joints of %d bytes: want at most %d in all", n, len(of), maxText)
			}
		}
		return starlark.Call(th, join, args, kwargs)
	}), nil
}

// guardedMaker is a builtin of Starlark's that builds something of its
// arguments' elements.
func guardedMaker(name string) starlark.Value {
	original := starlark.Universe[name].(*starlark.Builtin)
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, a := range args {
			if err := made(th, max(starlark.Len(a), 0)); err != nil {
				return nil, err
			}
		}
		return original.CallInternal(th, args, kwargs)
	})
}

// guardedText is a builtin of Starlark's that turns values into text.
func guardedText(name string) starlark.Value {
	original := starlark.Universe[name].(*starlark.Builtin)
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := light(args); err != nil {
			return nil, err
		}
		return original.CallInternal(th, args, kwargs)
	})
}

// light is an error where the text of a value would be long: a list may hold
// another a million times over, and that one the next.
func light(v starlark.Value) error {
	if weigh(v, maxWeight, 0) < 0 {
		return fmt.Errorf("a value too large or too deep to be written out")
	}
	return nil
}

// weigh is what is left of a budget after v, roughly a unit a byte of text;
// negative when it does not suffice.
func weigh(v starlark.Value, budget, depth int) int {
	if budget -= 8; budget < 0 || depth > 64 {
		return -1
	}
	switch v := v.(type) {
	case starlark.String:
		return budget - utf8.UTFMax*len(v)
	case starlark.Bytes:
		return budget - utf8.UTFMax*len(v)
	case starlark.Int:
		if large(v) {
			budget -= v.BigInt().BitLen() / 3
		}
	case starlark.IterableMapping:
		for _, kv := range v.Items() {
			if budget = weigh(kv, budget, depth+1); budget < 0 {
				return -1
			}
		}
	case starlark.Sequence:
		it := v.Iterate()
		defer it.Done()
		for e := starlark.Value(nil); it.Next(&e); {
			if budget = weigh(e, budget, depth+1); budget < 0 {
				return -1
			}
		}
	}
	return budget
}
