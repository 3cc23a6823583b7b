package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/suggest"
)

// evaluate computes an expression over named numbers:
//
//	sum     = product {("+" | "-") product}
//	product = factor {("*" | "/") factor}
//	factor  = number ["K" | "M" | "G"] | name | ("min" | "max") "(" sum "," sum ")" | "(" sum ")" | "-" factor
//
// K, M and G are binary, as in sizes. The error says what is wrong where.
func evaluate(text string, names map[string]float64) (float64, error) {
	if len(text) > maxExpression {
		return 0, fmt.Errorf("%.20q…: want at most %d bytes", text, maxExpression)
	}
	e := expression{rest: text, names: names}
	v, err := e.sum(0)
	if err == nil && strings.TrimSpace(e.rest) != "" {
		err = fmt.Errorf("%q: unexpected %.20q", text, strings.TrimSpace(e.rest))
	}
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = fmt.Errorf("%q is no finite number: it divides by 0, or is too large", text)
	}
	return v, err
}

// The longest text of an expression, and the deepest nesting of its brackets.
const (
	maxExpression = 500
	maxNesting    = 30
)

// expression is what is left of a text.
type expression struct {
	rest  string
	names map[string]float64
}

// accept removes a sign that stands next, and reports whether it did.
func (e *expression) accept(sign string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(e.rest, " \t"), sign)
	if ok {
		e.rest = rest
	}
	return ok
}

func (e *expression) sum(depth int) (float64, error) {
	v, err := e.product(depth)
	for err == nil {
		var next float64
		switch {
		case e.accept("+"):
			next, err = e.product(depth)
			v += next
		case e.accept("-"):
			next, err = e.product(depth)
			v -= next
		default:
			return v, nil
		}
	}
	return 0, err
}

func (e *expression) product(depth int) (float64, error) {
	v, err := e.factor(depth)
	for err == nil {
		var next float64
		switch {
		case e.accept("*"):
			next, err = e.factor(depth)
			v *= next
		case e.accept("/"):
			next, err = e.factor(depth)
			v /= next
		default:
			return v, nil
		}
	}
	return 0, err
}

func (e *expression) factor(depth int) (float64, error) {
	if depth > maxNesting {
		return 0, fmt.Errorf("brackets nested more than %d deep", maxNesting)
	}
	switch {
	case e.accept("("):
		v, err := e.sum(depth + 1)
		return v, e.closed(err)
	case e.accept("-"):
		v, err := e.factor(depth + 1)
		return -v, err
	}
	word := e.word()
	switch {
	case word == "":
		return 0, fmt.Errorf("want a number or a name before %.20q", strings.TrimSpace(e.rest))
	case word[0] >= '0' && word[0] <= '9' || word[0] == '.':
		return number(word)
	case word == "min" || word == "max":
		return e.least(word, depth)
	}
	v, known := e.names[word]
	if !known {
		names := slices.Collect(maps.Keys(e.names))
		return 0, fmt.Errorf("unknown name %.40q: want ranks or a parameter%s", word, suggest.DidYouMean(word, names))
	}
	return v, nil
}

// least reads the arguments of min or max.
func (e *expression) least(function string, depth int) (float64, error) {
	if !e.accept("(") {
		return 0, fmt.Errorf("want %s(A, B)", function)
	}
	a, err := e.sum(depth + 1)
	if err != nil {
		return 0, err
	}
	if !e.accept(",") {
		return 0, fmt.Errorf("want %s(A, B)", function)
	}
	b, err := e.sum(depth + 1)
	if function == "max" {
		return max(a, b), e.closed(err)
	}
	return min(a, b), e.closed(err)
}

// closed expects a closing bracket, unless there is an error already.
func (e *expression) closed(err error) error {
	if err == nil && !e.accept(")") {
		return fmt.Errorf("a bracket is not closed before %.20q", strings.TrimSpace(e.rest))
	}
	return err
}

// word takes a number or a name; a number may have an exponent with a sign.
func (e *expression) word() string {
	s := strings.TrimLeft(e.rest, " \t")
	n := 0
	for n < len(s) {
		c := s[n]
		exponent := (c == '+' || c == '-') && n > 0 && s[n-1] == 'e' && s[0] >= '0' && s[0] <= '9'
		if !(c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || exponent) {
			break
		}
		n++
	}
	e.rest = s[n:]
	return s[:n]
}

// number reads a number with a binary suffix.
func number(word string) (float64, error) {
	scale := 1.0
	digits := word
	for i, suffix := range []string{"K", "M", "G"} {
		if s, ok := strings.CutSuffix(word, suffix); ok {
			digits, scale = s, math.Pow(1024, float64(i+1))
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || strings.ContainsAny(digits, "xXpP") {
		return 0, fmt.Errorf("%.40q: want a number such as 1024, 64K or 1.5e9", word)
	}
	return v * scale, nil
}
