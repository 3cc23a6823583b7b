package script

import (
	"fmt"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// The cost of values: guarded operations count the elements they create and
// examine as steps (countSteps). Elements that stay in memory are counted too
// (countElements), so that many large values are limited like a single one.

// The largest values a template can make.
const (
	maxText         = 1 << 20 // bytes of a string
	maxList         = 1 << 18 // elements of a list or tuple; the longest of a family, over 2,048 ranks, has 22,528
	maxBits         = 4096    // of a number
	maxFormat       = 1 << 12 // bytes of a format string
	maxWeight       = 1 << 20 // of a value turned into text, or compared
	maxCompared     = 1 << 23 // of values compared with one another
	maxNested       = 1 << 14 // elements of a tuple, those of tuples in it included
	maxDeep         = 64      // depth of nested values
	elementsPerOp   = 64      // elements of values that an operation traced allows
	elementsPerPair = 4       // and every two ranks, beyond limits.made
	printed         = 1000    // steps that something printed counts for
)

// size returns the length of a value that grows by + and *, and its limit.
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

// large reports whether a number needs more than 64 bits.
func large(n starlark.Int) bool {
	_, ok := n.Int64()
	return !ok
}

// countSteps adds steps to the interpreter's count.
func countSteps(th *starlark.Thread, steps int) { th.Steps += uint64(steps) }

// chunksPerStep is the number of chunks that an operation moves in the time of
// a step.
const chunksPerStep = 8

// hashSteps is how many steps an element counts for that is looked up.
const hashSteps = 4

// walk counts the elements of a value as steps.
func walk(th *starlark.Thread, v starlark.Value) {
	n := max(starlark.Len(v), 0)
	if _, _, what := size(v); what != "" {
		countSteps(th, elements(n, what))
		return
	}
	countSteps(th, n*hashSteps)
}

// elements returns the cost of n elements of a value: sixteen bytes of a string
// count like one element of a list.
func elements(n int, what string) int {
	if what == "string" {
		return n / 16
	}
	return n
}

// countElements counts elements that a session's values hold.
func countElements(th *starlark.Thread, n int) error {
	countSteps(th, n)
	s := sessionOf(th)
	most := s.limits.made + elementsPerPair*s.pairs()
	if s.made += n; s.made > most+elementsPerOp*int(s.ops.Load()) {
		return fmt.Errorf("strings and lists of more than %d elements in all", most)
	}
	return nil
}

// checkTextSize returns an error if the text of a value would be long: a list
// may contain another a million times, and that one a third.
func checkTextSize(th *starlark.Thread, v starlark.Value) error {
	left := weigh(v, maxWeight, 0)
	countSteps(th, (maxWeight-max(left, 0))/2)
	if left < 0 {
		return fmt.Errorf("a value too large or too deep to be written out")
	}
	return nil
}

// compareCost returns an error if comparing a value would take long; steps is what
// it counts for.
func compareCost(th *starlark.Thread, v starlark.Value, most int) (steps int, err error) {
	if s, ok := v.(starlark.String); ok {
		countSteps(th, len(s)/16)
		return len(s) / 16, nil
	}
	left := weigh(v, most, 0)
	steps = (most - max(left, 0)) / 8
	countSteps(th, steps)
	if left < 0 {
		return steps, fmt.Errorf("a value too large or too deep to be compared")
	}
	return steps, nil
}

// weigh returns what is left of a budget after v, roughly a unit a byte of text;
// negative when it does not suffice.
func weigh(v starlark.Value, budget, depth int) int {
	if budget -= 8; budget < 0 || depth > maxDeep {
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

// bounded hands on a value and its error; where it is a tuple, it is one where that
// is too large, or too deep.
func bounded(th *starlark.Thread) func(starlark.Value, error) (starlark.Value, error) {
	return func(v starlark.Value, err error) (starlark.Value, error) {
		if t, ok := v.(starlark.Tuple); ok && err == nil && holdsTuples(t) {
			left := nested(t, maxNested, 0)
			countSteps(th, maxNested-max(left, 0))
			if left < 0 {
				return nil, fmt.Errorf("a tuple too large or too deep: want at most %d elements in it and its tuples, %d deep", maxNested, maxDeep)
			}
		}
		return v, err
	}
}

// boundedAll is bounded for the tuples of a list, all of them together.
func boundedAll(th *starlark.Thread) func(starlark.Value, error) (starlark.Value, error) {
	return func(v starlark.Value, err error) (starlark.Value, error) {
		list, ok := v.(*starlark.List)
		if !ok || err != nil {
			return bounded(th)(v, err)
		}
		const most = maxNested << 6
		left := most
		for i := 0; i < list.Len() && left >= 0; i++ {
			if t, ok := list.Index(i).(starlark.Tuple); ok && holdsTuples(t) {
				if nested(t, maxNested, 0) < 0 {
					left = -1
					break
				}
				left = nested(t, left, 0)
			}
		}
		countSteps(th, most-max(left, 0))
		if left < 0 {
			return nil, fmt.Errorf("a tuple too large or too deep: want at most %d elements in it and its tuples, %d deep, and %d in those of a list", maxNested, maxDeep, most)
		}
		return v, nil
	}
}

func holdsTuples(t starlark.Tuple) bool {
	for _, e := range t {
		if _, ok := e.(starlark.Tuple); ok {
			return true
		}
	}
	return false
}

// nested returns what is left of a budget after the elements of a tuple and
// those in it; negative when it does not suffice.
func nested(t starlark.Tuple, budget, depth int) int {
	if budget -= len(t); budget < 0 || depth > maxDeep {
		return -1
	}
	for _, e := range t {
		if inner, ok := e.(starlark.Tuple); ok {
			if budget = nested(inner, budget, depth+1); budget < 0 {
				return -1
			}
		}
	}
	return budget
}
