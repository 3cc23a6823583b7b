package script

import "go.starlark.net/syntax"

// copies are the methods whose results are as large as their object or arguments.
var copies = map[string]bool{
	"capitalize": true, "lower": true, "title": true, "upper": true, "split": true, "rsplit": true, "splitlines": true,
	"items": true, "keys": true, "values": true,
	"difference": true, "intersection": true, "symmetric_difference": true, "union": true,
}

// walks are the methods that examine all of their object.
var walks = map[string]bool{
	"count": true, "find": true, "index": true, "insert": true, "remove": true, "rfind": true, "rindex": true,
	"partition": true, "rpartition": true, "strip": true, "lstrip": true, "rstrip": true,
	"isalnum": true, "isalpha": true, "isdigit": true, "islower": true, "isspace": true, "istitle": true, "isupper": true,
	"issubset": true, "issuperset": true, "update": true, "clear": true,
	"difference": true, "intersection": true, "symmetric_difference": true, "union": true,
}

// merges are the walks that examine all of their arguments as well.
var merges = map[string]bool{
	"issubset": true, "issuperset": true, "update": true,
	"difference": true, "intersection": true, "symmetric_difference": true, "union": true,
}

// guarded maps operators to the calls that replace them.
var guarded = map[syntax.Token]string{
	syntax.PLUS: "«+»", syntax.STAR: "«*»", syntax.PERCENT: "«%»", syntax.LTLT: "«<<»",
	syntax.STAR_EQ: "«*»", syntax.PERCENT_EQ: "«%»", syntax.LTLT_EQ: "«<<»",
	syntax.EQL: "«==»", syntax.NEQ: "«!=»", syntax.LT: "«<»", syntax.GT: "«>»", syntax.LE: "«<=»", syntax.GE: "«>=»",
	syntax.IN: "«in»", syntax.NOT_IN: "«not in»",
}

// guard returns what replaces an expression whose parts are guarded already.
func guard(e syntax.Expr) syntax.Expr {
	switch x := e.(type) {
	case *syntax.BinaryExpr:
		return guardOperator(x)
	case *syntax.CallExpr:
		return guardCall(x)
	case *syntax.DotExpr:
		return guardMethod(x)
	case *syntax.SliceExpr:
		return calling("«made»", x.Lbrack, x)
	case *syntax.TupleExpr:
		if !allPlain(x.List...) {
			return calling("«tuple»", syntax.Start(x), x.List...)
		}
	}
	return e
}

// guardOperator: a + b is «+»(a, b), and the union of sets is made.
func guardOperator(x *syntax.BinaryExpr) syntax.Expr {
	if name, ok := guarded[x.Op]; ok && !harmless(x) {
		return calling(name, x.OpPos, x.X, x.Y)
	}
	if x.Op == syntax.PIPE && !isNumber(x.X) && !isNumber(x.Y) {
		return calling("«made»", x.OpPos, x)
	}
	return x
}

// guardCall guards the arguments of a method, or its result.
func guardCall(x *syntax.CallExpr) syntax.Expr {
	method, ok := x.Fn.(*syntax.DotExpr)
	if !ok {
		return x
	}
	name := method.Name.Name
	if merges[name] {
		for i, arg := range x.Args {
			if _, special := arg.(*syntax.UnaryExpr); !special && !named(arg) {
				x.Args[i] = calling("«walk»", x.Lparen, arg)
			}
		}
	}
	if name == "pop" && len(x.Args) > 0 { // for a list: the elements after it move
		method.X = calling("«walk»", method.NamePos, method.X)
	}
	if copies[name] {
		return calling("«made»", x.Lparen, x)
	}
	return x
}

// guardMethod: x.join is «join»(x), and what a method is called on is walked over.
func guardMethod(x *syntax.DotExpr) syntax.Expr {
	switch name := x.Name.Name; {
	case name == "join":
		return calling("«join»", x.Name.NamePos, x.X)
	case walks[name]:
		x.X = calling("«walk»", x.Name.NamePos, x.X)
	}
	return x
}

// named reports whether an argument is name=value.
func named(arg syntax.Expr) bool {
	b, ok := arg.(*syntax.BinaryExpr)
	return ok && b.Op == syntax.EQ
}

// calling returns the call name(args…), at the position of an operator.
func calling(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}

// harmless reports whether an operator obviously creates and examines little:
// adding a number literal, the remainder of one, a power of two, a comparison
// with a literal.
func harmless(x *syntax.BinaryExpr) bool {
	switch x.Op {
	case syntax.PLUS:
		return isNumber(x.X) || isNumber(x.Y)
	case syntax.PERCENT:
		return isNumber(x.X)
	case syntax.LTLT:
		_, literal := x.X.(*syntax.Literal)
		return literal
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE:
		return allPlain(x.X) || allPlain(x.Y)
	case syntax.IN, syntax.NOT_IN:
		switch y := x.Y.(type) {
		case *syntax.ListExpr:
			return allPlain(y.List...)
		case *syntax.TupleExpr:
			return allPlain(y.List...)
		}
	}
	return false
}

// allPlain reports whether all expressions are obviously numbers, literals or None.
func allPlain(list ...syntax.Expr) bool {
	for _, e := range list {
		id, _ := e.(*syntax.Ident)
		_, literal := e.(*syntax.Literal)
		if !literal && !isNumber(e) && (id == nil || id.Name != "None" && id.Name != "True" && id.Name != "False") {
			return false
		}
	}
	return true
}

// isNumber reports whether an expression obviously has a number as its value, if it
// has one at all.
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
		return ok && (id.Name == "len" || id.Name == "int" || id.Name == "«<<»")
	}
	return false
}
