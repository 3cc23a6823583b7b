package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// reader parses a JSON text in place: a program of millions of steps is read
// without an allocation for each step, and every error has a position.
type reader struct {
	text []byte
	pos  int
}

// maxNesting bounds the nesting of a value that is read as a whole.
const maxNesting = 16

// errorf returns an error at the current position.
func (r *reader) errorf(format string, args ...any) error { return r.errorAt(r.pos, format, args...) }

func (r *reader) errorAt(pos int, format string, args ...any) error {
	before := r.text[:min(pos, len(r.text))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	col := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%d:%d: %s", line, col, fmt.Sprintf(format, args...))
}

func (r *reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// next returns the next byte that is not white space, or 0 at the end.
func (r *reader) next() byte {
	r.space()
	if r.pos == len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

func (r *reader) punct(c byte) error {
	if got := r.next(); got != c {
		return r.errorf("%s where %q is wanted", r.found(), c)
	}
	r.pos++
	return nil
}

// found describes the next token, for errors.
func (r *reader) found() string {
	if r.pos >= len(r.text) {
		return "the end"
	}
	return fmt.Sprintf("%q", r.text[r.pos])
}

// keys lists the keys that an object may and must have.
type keys []struct {
	name     string
	required bool
}

// object reads an object, calling read with a key to read its value.
func (r *reader) object(known keys, read func(key string) error) error {
	if err := r.punct('{'); err != nil {
		return err
	}
	start := r.pos - 1
	var seen uint64
	for n := 0; ; n++ {
		if r.next() == '}' && n == 0 {
			break
		}
		at := r.pos
		key, err := r.token()
		if err != nil {
			return err
		}
		i := 0
		for i < len(known) && known[i].name != string(key) {
			i++
		}
		if i == len(known) || seen&(1<<i) != 0 {
			if i == len(known) {
				return r.errorAt(at, "unknown key %q: want %s", key, known.names())
			}
			return r.errorAt(at, "key %q twice", key)
		}
		seen |= 1 << i
		if err := r.punct(':'); err != nil {
			return err
		}
		if err := read(known[i].name); err != nil {
			return err
		}
		if r.next() != ',' {
			break
		}
		r.pos++
	}
	if err := r.punct('}'); err != nil {
		return err
	}
	for i := range known {
		if known[i].required && seen&(1<<i) == 0 {
			return r.errorAt(start, "no key %q", known[i].name)
		}
	}
	return nil
}

func (k keys) names() string {
	names := make([]string, len(k))
	for i := range k {
		names[i] = k[i].name
	}
	return strings.Join(names, ", ")
}

func (r *reader) array(read func(i int) error) error {
	if err := r.punct('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if i == 0 && r.next() == ']' {
			break
		}
		if err := read(i); err != nil {
			return err
		}
		if r.next() != ',' {
			break
		}
		r.pos++
	}
	return r.punct(']')
}

func (r *reader) integer(least, most int) (int, error) {
	r.space()
	at := r.pos
	negative := r.pos < len(r.text) && r.text[r.pos] == '-'
	if negative {
		r.pos++
	}
	digits := r.pos
	n := 0
	for r.pos < len(r.text) && r.text[r.pos] >= '0' && r.text[r.pos] <= '9' && r.pos-digits < 12 {
		n = 10*n + int(r.text[r.pos]-'0')
		r.pos++
	}
	after := byte(0)
	if r.pos < len(r.text) {
		after = r.text[r.pos]
	}
	leading := r.pos-digits > 1 && r.text[digits] == '0'
	if negative {
		n = -n
	}
	if r.pos == digits || leading || after == '.' || after == 'e' || after == 'E' || after >= '0' && after <= '9' || n < least || n > most {
		return 0, r.errorAt(at, "want a whole number from %d to %d", least, most)
	}
	return n, nil
}

func (r *reader) boolean() (bool, error) {
	r.space()
	for _, w := range []string{"true", "false"} {
		if bytes.HasPrefix(r.text[r.pos:], []byte(w)) {
			r.pos += len(w)
			return w == "true", nil
		}
	}
	return false, r.errorf("%s where true or false is wanted", r.found())
}

func (r *reader) str() (string, error) {
	b, err := r.token()
	return string(b), err
}

// token reads a string; what it returns may be a part of the text.
func (r *reader) token() ([]byte, error) {
	if r.next() != '"' {
		return nil, r.errorf("%s where a string is wanted", r.found())
	}
	start := r.pos
	plain := true
	for i := start + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '\\':
			plain = false
			i++
		case c < ' ' || c >= 0x80:
			plain = false
		case c == '"':
			r.pos = i + 1
			if plain {
				return r.text[start+1 : i], nil
			}
			var s string
			if err := json.Unmarshal(r.text[start:r.pos], &s); err != nil {
				return nil, r.errorAt(start, "%v", err)
			}
			return []byte(s), nil
		}
	}
	return nil, r.errorf("a string without an end")
}

// raw skips a value of any kind and returns its text, with bounded nesting but
// otherwise unchecked.
func (r *reader) raw() ([]byte, error) {
	r.space()
	start, depth := r.pos, 0
	for r.pos < len(r.text) {
		switch c := r.next(); c {
		case '"':
			if _, err := r.str(); err != nil {
				return nil, err
			}
		case '{', '[':
			if depth++; depth > maxNesting {
				return nil, r.errorf("nested deeper than %d", maxNesting)
			}
			r.pos++
		case '}', ']':
			depth--
			r.pos++
		default:
			if depth == 0 {
				return nil, r.errorf("%s where an object is wanted", r.found())
			}
			r.pos++
		}
		if depth <= 0 {
			break
		}
	}
	return r.text[start:min(r.pos, len(r.text))], nil
}

// finish returns an error if anything follows.
func (r *reader) finish() error {
	if r.next() != 0 || r.pos < len(r.text) {
		return r.errorf("%s after the end of the document", r.found())
	}
	return nil
}
