package tomlfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/colltune/colltune/internal/lazyregexp"
)

// The parser reports where it stopped. Users need the line at fault, and a
// correction:
//
//	8: [node            "[node" is not closed: want [node]
//	9: gpus = 8         ← where a parser stops
//
// mistake is a pattern for a common TOML syntax error, and its message.
type mistake struct {
	name string
	form func() *regexp.Regexp
	say  func(found []string) string
}

// mistakes are tried in this order.
var mistakes = []mistake{
	{"open tables", lazyregexp.New(`^\[\[([^\[\]]*)\]?$`), func(f []string) string {
		return fmt.Sprintf("%s is not closed: want [[%s]]", short(f[0]), strings.TrimSpace(f[1]))
	}},
	{"open table", lazyregexp.New(`^\[([^\[\]]*)$`), func(f []string) string {
		return fmt.Sprintf("%s is not closed: want [%s]", short(f[0]), strings.TrimSpace(f[1]))
	}},
	{"no value", lazyregexp.New(`^([\w.-]+)\s*=$`), func(f []string) string {
		return fmt.Sprintf("%s has no value: want one behind the =", f[1])
	}},
	{"open string", lazyregexp.New(`^([\w.-]+)\s*=\s*"([^"]*)$`), func(f []string) string {
		return fmt.Sprintf("a string that is not closed: want %s = %q", f[1], strings.TrimSpace(f[2]))
	}},
	{"no quotes", lazyregexp.New(`^([\w.-]+)\s*=\s*([\w.+-][^"'\[\]{}=]*)$`), func(f []string) string {
		return fmt.Sprintf("a value without quotes: want %s = %q", f[1], strings.TrimSpace(f[2]))
	}},
	{"no =", lazyregexp.New(`^([\w.-]+)(?:\s*:\s*|\s+)([^=:]+)$`), func(f []string) string {
		value := strings.TrimSpace(f[2])
		if refused("x = " + value) {
			value = fmt.Sprintf("%q", value)
		}
		return fmt.Sprintf("no = between a key and its value: want %s = %s", f[1], value)
	}},
	{"no key", lazyregexp.New(`^=`), func([]string) string { return "a value without a key: want one before the =" }},
	{"a word", lazyregexp.New(`^[\w.-]+$`), func(f []string) string {
		return fmt.Sprintf("%s alone: want a key and a value, %s = …", short(f[0]), f[0])
	}},
}

// Error is a fault of a text as TOML.
type Error struct {
	Line int // from 1, of the line to be changed; 0 if it is not known
	Msg  string
}

// Error begins with the line.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Decode parses a TOML text into v, a pointer, as toml.Decode does. A text that is no
// TOML, or is nested too deep, is an *Error.
func Decode(text string, v any) (toml.MetaData, Lines, error) {
	lines, err := Scan(text)
	if err != nil {
		return toml.MetaData{}, nil, err
	}
	meta, err := toml.Decode(text, v)
	if err != nil {
		return meta, lines, syntaxError(text, lines, err)
	}
	return meta, lines, nil
}

// syntaxError converts a parser's error to one at the line to be changed.
func syntaxError(text string, lines Lines, err error) *Error {
	e := &Error{Msg: err.Error()}
	p, ok := err.(toml.ParseError)
	if !ok {
		return e
	}
	e.Line, e.Msg = p.Position.Line, p.Message
	if key, ok := strings.CutSuffix(strings.TrimPrefix(p.Message, "Key '"), "' has already been defined."); ok {
		e.Msg = fmt.Sprintf("%s is there already", key)
		if first := lines[key]; first > 0 && first != e.Line {
			e.Msg += fmt.Sprintf(", in line %d: want it once", first)
		}
		return e
	}
	all := strings.Split(text, "\n")
	if at := openBracket(all, e.Line); at > 0 {
		e.Line, e.Msg = at, "a list that is not closed: want ] at its end"
	}
	// A parser may notice only on the next line that something was missing at the
	// end of this one.
	for at := e.Line; at >= max(e.Line-1, 1) && at <= len(all); at-- {
		line, _, _ := strings.Cut(all[at-1], "#")
		for _, m := range mistakes {
			if found := m.form().FindStringSubmatch(strings.TrimSpace(line)); found != nil && refused(found[0]) {
				e.Line, e.Msg = at, m.say(found)
				return e
			}
		}
	}
	return e
}

// refused reports whether a line alone is no valid TOML.
func refused(line string) bool {
	_, err := toml.Decode(line, &map[string]any{})
	return err != nil
}

// openBracket returns the line of an unclosed list, if the parser stopped at a
// later line that looks like a key or a header; 0 if there is none.
func openBracket(all []string, line int) int {
	var s scanner
	began := 0
	for i, text := range all[:min(line, len(all))] {
		if s.depth > 0 && s.quote == "" && keyed().MatchString(text) {
			return began
		}
		if s.depth == 0 {
			began = i + 1
		}
		s.line(text)
	}
	return 0
}

var keyed = lazyregexp.New(`^\s*([\w.-]+\s*=|\[\[?\w[\w.-]*\]\]?\s*(#.*)?$)`)

// short is a text quoted, and cut if it is long.
func short(s string) string {
	s = fmt.Sprintf("%q", s)
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}
