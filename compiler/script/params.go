package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a declared parameter of a template. Its values are those in
// Values, or the numbers from Min to Max, or, for the kind of hole in Hole,
// found by a solver.
type Parameter struct {
	Name    string `json:"name"`
	Doc     string `json:"doc,omitempty"`
	Values  []any  `json:"values,omitempty"` // ints, strings or bools, in the order declared
	Min     int    `json:"min,omitempty"`
	Max     int    `json:"max,omitempty"`
	Default any    `json:"default"` // nil for a hole: what the program does if it is unfilled
	Hole    string `json:"hole,omitempty"`
}

// Params holds the values of a template's parameters: int, string, bool, or for
// holes [][]int or nil.
type Params map[string]any

// String returns the canonical form, sorted by name: channels=4 order=0,2,1,3.
// Unfilled holes are omitted. Different parameters have different strings.
func (p Params) String() string {
	var words []string
	for _, n := range slices.Sorted(maps.Keys(p)) {
		if p[n] != nil {
			words = append(words, n+"="+FormatValue(p[n]))
		}
	}
	return strings.Join(words, " ")
}

// FormatValue prints a value as ParseValue reads it.
func FormatValue(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" || strings.ContainsAny(v, " =\"\\\t\n") {
			return strconv.Quote(v)
		}
		return v
	case [][]int:
		lists := make([]string, len(v))
		for i, list := range v {
			lists[i] = strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
		}
		return strings.Join(lists, ";")
	}
	return fmt.Sprint(v)
}

// All lists every value of the parameter, in declared order; for a hole, which is
// not enumerated, only nil.
func (p Parameter) All() []any {
	switch {
	case p.Hole != "":
		return []any{nil}
	case p.Values != nil:
		return p.Values
	}
	all := make([]any, 0, p.Max-p.Min+1)
	for v := p.Min; v <= p.Max; v++ {
		all = append(all, v)
	}
	return all
}

// Size returns the number of values.
func (p Parameter) Size() int {
	switch {
	case p.Hole != "":
		return 1
	case p.Values != nil:
		return len(p.Values)
	}
	return p.Max - p.Min + 1
}

// accepts describes the values the parameter can have.
func (p Parameter) accepts() string {
	switch {
	case p.Hole != "":
		return kindOfHole(p.Hole).accepts
	case p.Values == nil:
		return fmt.Sprintf("%d to %d", p.Min, p.Max)
	}
	words := make([]string, len(p.Values))
	for i, v := range p.Values {
		words[i] = FormatValue(v)
	}
	return strings.Join(words, ", ")
}

// ParseValue reads a value as written in a flag or file. An error names the parameter
// and the values that it accepts.
func (p Parameter) ParseValue(s string) (any, error) {
	if p.Hole != "" {
		var lists [][]int
		for text := range strings.SplitSeq(plainLists(s), ";") {
			var list []int
			for number := range strings.SplitSeq(text, ",") {
				n, err := strconv.Atoi(strings.TrimSpace(number))
				if err != nil {
					return nil, fmt.Errorf("parameter %s=%s: want %s", p.Name, s, p.accepts())
				}
				list = append(list, n)
			}
			lists = append(lists, list)
		}
		return p.Check(lists)
	}
	for _, v := range p.Values {
		if text, is := v.(string); is && s == text || FormatValue(v) == s || strings.EqualFold(fmt.Sprint(v), s) {
			return v, nil
		}
	}
	if n, err := strconv.Atoi(s); err == nil {
		return p.Check(n)
	}
	return nil, fmt.Errorf("parameter %s=%s: want %s", p.Name, s, p.accepts())
}

// plainLists converts lists as tables print them, [[0,1,2],[0,2,1]], to the form
// that flags have, 0,1,2;0,2,1. Anything else stays as it is.
func plainLists(s string) string {
	inner, opened := strings.CutPrefix(strings.ReplaceAll(s, " ", ""), "[[")
	inner, closed := strings.CutSuffix(inner, "]]")
	if !opened || !closed {
		return s
	}
	return strings.ReplaceAll(inner, "],[", ";")
}

// Check converts a value, from a program or a JSON document, to its type in
// Params. It returns an error if the parameter can't have that value.
func (p Parameter) Check(v any) (any, error) {
	refuse := func() (any, error) {
		return nil, fmt.Errorf("parameter %s=%s: want %s", p.Name, FormatValue(v), p.accepts())
	}
	if p.Hole != "" {
		if v == nil {
			return nil, nil
		}
		lists, ok := asLists(v)
		if !ok || len(lists) == 0 {
			return refuse()
		}
		if err := kindOfHole(p.Hole).checkLists(lists); err != nil {
			return nil, fmt.Errorf("parameter %s=%s: %w", p.Name, FormatValue(lists), err)
		}
		return lists, nil
	}
	if n, ok := asInt(v); ok {
		v = n
	}
	if p.Values != nil {
		if slices.Contains(p.Values, v) {
			return v, nil
		}
		return refuse()
	}
	if n, ok := v.(int); ok && p.Min <= n && n <= p.Max {
		return n, nil
	}
	return refuse()
}

// asInt reads a number in any of the types that Go code, JSON decoders and flags
// use.
func asInt(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v), true
		}
	case json.Number:
		n, err := strconv.Atoi(v.String())
		return n, err == nil
	}
	return 0, false
}

// asLists reads one list of numbers or several.
func asLists(v any) ([][]int, bool) {
	switch v := v.(type) {
	case [][]int:
		return v, true
	case []int:
		return [][]int{v}, true
	case []any:
		lists, list := [][]int{}, []int{}
		for _, e := range v {
			if n, ok := asInt(e); ok {
				list = append(list, n)
			} else if inner, ok := asLists(e); ok && len(inner) == 1 {
				lists = append(lists, inner[0])
			} else {
				return nil, false
			}
		}
		switch {
		case len(lists) == 0:
			return [][]int{list}, true
		case len(list) == 0:
			return lists, true
		}
	}
	return nil, false
}
