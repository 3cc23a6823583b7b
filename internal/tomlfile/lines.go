package tomlfile

import (
	"fmt"
	"strings"
)

// Limits on the nesting of a file, since the TOML reader is recursive. No file of ours
// needs more than 3 parts in a key and 2 brackets in a value.
const (
	maxKeyParts = 8
	maxBrackets = 16
)

// Lines are the lines of a text's keys and tables, from 1, by dotted path. Tables of an
// array have indices:
//
//	[[node.link]]            node.link[0]            line 1
//	bandwidth = "25 GB/s"    node.link[0].bandwidth  line 2
//
// Parts of a path that are no bare words are quoted, as Key does.
type Lines map[string]int

// Scan finds the lines of a TOML text. It is a scanner, not a parser: in text that is
// not TOML it finds lines of anything that looks like a key. It returns a *Error
// if the text is nested too deep for the parser.
func Scan(text string) (Lines, error) {
	keys := keyLines{lines: Lines{}, counts: map[string]int{}}
	var s scanner
	for i, line := range strings.Split(text, "\n") {
		parts := 0
		if s.quote == "" && s.depth == 0 {
			parts = keys.addLine(strings.TrimSpace(line), i+1)
		}
		s.line(line)
		switch {
		case max(parts, s.parts) > maxKeyParts:
			return nil, &Error{i + 1, fmt.Sprintf("a key of more than %d parts", maxKeyParts)}
		case s.deepest > maxBrackets:
			return nil, &Error{i + 1, fmt.Sprintf("brackets nested more than %d deep", maxBrackets)}
		}
	}
	return keys.lines, nil
}

// keyLines collects the lines of keys and headers.
type keyLines struct {
	lines  Lines
	counts map[string]int // tables of [[path]] so far
	prefix string         // path of the table that keys now belong to
}

// addLine records the key of a line that is no continuation of a value, and
// returns the number of its parts.
func (k *keyLines) addLine(line string, number int) int {
	switch {
	case line == "" || line[0] == '#':
		return 0
	case strings.HasPrefix(line, "[["):
		parts, _ := keyParts(line[2:])
		path := indexed(k.counts, parts)
		k.prefix = fmt.Sprintf("%s[%d]", path, k.counts[path])
		k.counts[path]++
		note(k.lines, k.prefix, number)
		note(k.lines, path, number)
		return len(parts)
	case line[0] == '[':
		parts, _ := keyParts(line[1:])
		if len(parts) > 0 {
			k.prefix = indexed(k.counts, parts)
			note(k.lines, k.prefix, number)
			note(k.lines, parts[0], number)
		}
		return len(parts)
	}
	parts, _ := keyParts(line)
	path := k.prefix
	for _, p := range parts {
		if path != "" {
			path += "."
		}
		path += p
		note(k.lines, path, number)
	}
	return len(parts)
}

// note keeps the first line of a path.
func note(lines Lines, path string, line int) {
	if _, ok := lines[path]; !ok {
		lines[path] = line
	}
}

// indexed returns the path of a header's parts, with the last index of every array
// of tables on its way: [node.link.x] after two [[node.link]] is node.link[1].x.
func indexed(counts map[string]int, parts []string) string {
	path := ""
	for i, p := range parts {
		if i > 0 {
			if n := counts[path]; n > 0 {
				path = fmt.Sprintf("%s[%d]", path, n-1)
			}
			path += "."
		}
		path += p
	}
	return path
}

// Of returns the line of a path, or of the nearest table around it; 0 if there is none.
func (l Lines) Of(path string) int {
	for path != "" {
		if n, ok := l[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// CheckSchema returns an error where a file's schema is not the one wanted, with its line if it has one.
func (l Lines) CheckSchema(got, want string) error {
	switch line := l.Of("schema"); {
	case got == want:
		return nil
	case line == 0:
		return fmt.Errorf("line 1: no schema above the tables: want schema = %q", want)
	default:
		return fmt.Errorf("line %d: schema %.80q: want %q", line, got, want)
	}
}

// keyParts reads a dotted key at the beginning of s; rest is what follows it.
// Parts lose their quotes if they are plain words.
func keyParts(s string) (parts []string, rest string) {
	for len(parts) <= maxKeyParts {
		s = strings.TrimLeft(s, " \t")
		var part string
		switch {
		case s != "" && (s[0] == '"' || s[0] == '\''):
			end := strings.IndexByte(s[1:], s[0])
			if end < 0 {
				return parts, s
			}
			part, s = Key(s[1:end+1]), s[end+2:]
		default:
			end := strings.IndexFunc(s, func(r rune) bool { return !Bare(r) })
			if end < 0 {
				end = len(s)
			}
			if end == 0 {
				return parts, s
			}
			part, s = s[:end], s[end:]
		}
		parts = append(parts, part)
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != '.' {
			return parts, s
		}
		s = s[1:]
	}
	return parts, s
}

// Bare reports whether a letter may be in a key without quotes.
func Bare(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// Key prints a key as part of a path: quoted if it is no bare word, and cut
// if it is long.
func Key(k string) string {
	if len(k) > 100 {
		k = k[:100]
	}
	if k != "" && strings.IndexFunc(k, func(r rune) bool { return !Bare(r) }) < 0 {
		return k
	}
	return fmt.Sprintf("%q", k)
}

// scanner follows strings, comments and brackets across lines.
type scanner struct {
	quote   string // of the string that the next line begins in
	depth   int    // open brackets of a value
	deepest int
	parts   int // most parts of any dotted run outside strings so far
}

func (s *scanner) line(line string) {
	dots := 0
	for i := 0; i < len(line); {
		if s.quote != "" {
			switch {
			case strings.HasPrefix(line[i:], s.quote):
				i += len(s.quote)
				s.quote = ""
			case line[i] == '\\' && s.quote[0] == '"':
				i += 2
			default:
				i++
			}
			continue
		}
		c := line[i]
		switch c {
		case '#':
			i = len(line)
			continue
		case '"', '\'':
			s.quote = line[i : i+1]
			if triple := strings.Repeat(s.quote, 3); strings.HasPrefix(line[i:], triple) {
				s.quote = triple
			}
			i += len(s.quote)
			continue
		case '[', '{':
			s.depth++
			s.deepest = max(s.deepest, s.depth)
		case ']', '}':
			s.depth = max(s.depth-1, 0)
		}
		switch {
		case c == '.':
			dots++
			s.parts = max(s.parts, dots+1)
		case c == '=' || c == ',' || c == '{' || c == '[':
			dots = 0
		}
		i++
	}
	if len(s.quote) == 1 {
		s.quote = "" // a string that should have ended on its line: the parser will say so
	}
}
