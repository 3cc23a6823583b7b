package script

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// guards are the guarded operations, by the names that the rewriting uses. Each
// refuses results that are too large, and counts what it creates or examines as
// steps.
var guards = starlark.StringDict{
	"«+»":      starlark.NewBuiltin("+", guardedAdd),
	"«*»":      starlark.NewBuiltin("*", guardedMultiply),
	"«%»":      starlark.NewBuiltin("%", guardedRemainder),
	"«<<»":     starlark.NewBuiltin("<<", guardedShift),
	"«==»":     guardedComparison(syntax.EQL),
	"«!=»":     guardedComparison(syntax.NEQ),
	"«<»":      guardedComparison(syntax.LT),
	"«>»":      guardedComparison(syntax.GT),
	"«<=»":     guardedComparison(syntax.LE),
	"«>=»":     guardedComparison(syntax.GE),
	"«in»":     guardedMembership(syntax.IN),
	"«not in»": guardedMembership(syntax.NOT_IN),
	"«part»":   starlark.NewBuiltin("+=", guardedPart),
	"«join»":   starlark.NewBuiltin("join", guardedJoin),
	"«made»":   starlark.NewBuiltin("made", guardedResult),
	"«walk»":   starlark.NewBuiltin("walk", guardedWalk),
	"«tuple»":  starlark.NewBuiltin("tuple", guardedTuple),
	"int":      starlark.NewBuiltin("int", guardedInt),
	"str":      guardedText("str"),
	"repr":     guardedText("repr"),
	"print":    guardedText("print"),
	"fail":     guardedText("fail"),
}

// makers are Starlark's builtins that go through all their arguments' elements.
var makers = map[string]struct {
	steps    int  // steps that an element counts as
	keeps    bool // the result holds the elements, which takes memory
	compares bool // elements are compared with each other
}{
	"dict":      {steps: hashSteps, keeps: true, compares: true},
	"enumerate": {steps: 1, keeps: true},
	"list":      {steps: 1, keeps: true},
	"reversed":  {steps: 1, keeps: true},
	"set":       {steps: hashSteps, keeps: true, compares: true},
	"sorted":    {steps: 16, keeps: true, compares: true},
	"tuple":     {steps: 1, keeps: true},
	"zip":       {steps: 1, keeps: true},
	"all":       {steps: 1},
	"any":       {steps: 1},
	"max":       {steps: 1, compares: true},
	"min":       {steps: 1, compares: true},
}

func guardedAdd(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	if a, ok := x.(starlark.Int); ok {
		if b, ok := y.(starlark.Int); ok {
			return sum(a, b)
		}
	}
	if n, most, what := size(x); most > 0 {
		if more, _, _ := size(y); n+more > most {
			return nil, tooLarge(what, n+more, most)
		} else if err := countElements(th, elements(n+more, what)); err != nil {
			return nil, err
		}
	}
	return bounded(th)(starlark.Binary(syntax.PLUS, x, y))
}

// sum returns a + b for integers, if the result is not too long.
func sum(a, b starlark.Int) (starlark.Value, error) {
	c := a.Add(b)
	if large(c) && c.BigInt().BitLen() > maxBits {
		return nil, tooManyBits(c.BigInt().BitLen())
	}
	return c, nil
}

func tooManyBits(n int) error {
	return fmt.Errorf("a number of %d bits: want at most %d", n, maxBits)
}

func guardedMultiply(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	a, aNumber := x.(starlark.Int)
	b, bNumber := y.(starlark.Int)
	switch {
	case aNumber && bNumber:
		if large(a) || large(b) {
			if bits := a.BigInt().BitLen() + b.BigInt().BitLen(); bits > maxBits {
				return nil, tooManyBits(bits)
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
			if err := countElements(th, elements(n*int(max(k, 0)), what)); err != nil {
				return nil, err
			}
		}
	}
	return bounded(th)(starlark.Binary(syntax.STAR, x, y))
}

// guardedShift implements <<. Starlark limits a single shift, but not repeated
// ones.
func guardedShift(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Binary(syntax.LTLT, args[0], args[1])
	if n, ok := v.(starlark.Int); ok && large(n) && n.BigInt().BitLen() > maxBits {
		return nil, tooManyBits(n.BigInt().BitLen())
	}
	return v, err
}

// guardedInt implements int, for texts with a limited number of digits.
func guardedInt(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, a := range args {
		if s, ok := a.(starlark.String); ok && len(s) > maxBits {
			return nil, tooLarge("number's text", len(s), maxBits)
		}
	}
	return starlark.Universe["int"].(*starlark.Builtin).CallInternal(th, args, kwargs)
}

func guardedRemainder(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if format, ok := args[0].(starlark.String); ok {
		if len(format) > maxFormat {
			return nil, tooLarge("format string", len(format), maxFormat)
		}
		if err := checkTextSize(th, args[1]); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.PERCENT, args[0], args[1])
}

// scalar reports whether comparing a value takes constant time.
func scalar(v starlark.Value) bool {
	switch v.(type) {
	case starlark.Int, starlark.Bool, starlark.Float, starlark.NoneType:
		return true
	}
	return false
}

// guardedComparison implements a comparison operator. Without a guard it can
// take for ever: a list may hold another a million times, which holds yet
// another, and so on.
func guardedComparison(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(op.String(), func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		x, y := args[0], args[1]
		if !scalar(x) && !scalar(y) {
			if _, err := compareCost(th, x, maxWeight); err != nil {
				return nil, err
			}
		}
		yes, err := starlark.Compare(op, x, y)
		return starlark.Bool(yes), err
	})
}

// guardedMembership implements in, or not in.
func guardedMembership(op syntax.Token) *starlark.Builtin {
	return starlark.NewBuiltin(op.String(), func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		x, among := args[0], args[1]
		each := 1
		if !scalar(x) {
			steps, err := compareCost(th, x, maxWeight)
			if err != nil {
				return nil, err
			}
			each += steps
		}
		n, _, what := size(among) // dictionaries, sets and ranges find it without a search
		countSteps(th, elements(n, what)*each)
		return starlark.Binary(op, x, among)
	})
}

// guardedResult checks the size of the result of an operation whose operands are
// of limited size.
func guardedResult(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	_, _, what := size(args[0])
	if err := countElements(th, elements(max(starlark.Len(args[0]), 0), what)); err != nil {
		return nil, err
	}
	return boundedAll(th)(args[0], nil)
}

// guardedWalk counts the object of a method call that examines all of it.
func guardedWalk(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	walk(th, args[0])
	return args[0], nil
}

// guardedTuple limits the contents of a tuple, including those of tuples in it,
// since all of it is examined whenever it is used as a key.
func guardedTuple(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return bounded(th)(args, nil)
}

// guardedPart checks the right side of +=, which may be of any size but not all at
// once. The left side is the second argument, if it is a name.
func guardedPart(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n, most, what := size(args[0])
	if n > most {
		return nil, fmt.Errorf("+= of %w", tooLarge(what, n, most))
	}
	if what != "string" {
		return args[0], countElements(th, n)
	}
	whole := n + maxText/16 // it is copied each time; this is a guess if its size is not known
	if len(args) > 1 {
		whole = n + max(starlark.Len(args[1]), 0)
	}
	if whole > maxText {
		return nil, tooLarge(what, whole, maxText)
	}
	return args[0], countElements(th, elements(whole, what))
}

// guardedJoin implements a string's join, which first checks what it will join.
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
			if err := checkTextSize(th, args[0]); err != nil {
				return nil, err
			}
			if n := starlark.Len(args[0]); n > 0 && len(of) > maxText/n {
				return nil, fmt.Errorf("%d joints of %d bytes: want at most %d in all", n, len(of), maxText)
			}
		}
		return starlark.Call(th, join, args, kwargs)
	}), nil
}

// guardedMaker implements one of Starlark's builtins that go through their
// arguments' elements.
func guardedMaker(name string) starlark.Value {
	original, does := starlark.Universe[name].(*starlark.Builtin), makers[name]
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, a := range args {
			if does.compares {
				if _, err := compareCost(th, a, maxCompared); err != nil {
					return nil, err
				}
			}
			n := max(starlark.Len(a), 0)
			countSteps(th, n*does.steps)
			if does.keeps {
				if err := countElements(th, n); err != nil {
					return nil, err
				}
			}
		}
		return boundedAll(th)(original.CallInternal(th, args, kwargs))
	})
}

// guardedText implements one of Starlark's builtins that turn values into text.
func guardedText(name string) starlark.Value {
	original := starlark.Universe[name].(*starlark.Builtin)
	return starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := checkTextSize(th, args); err != nil {
			return nil, err
		}
		if name == "print" {
			countSteps(th, printed)
		}
		return original.CallInternal(th, args, kwargs)
	})
}
