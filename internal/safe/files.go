package safe

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// JSON is a JSON document with its hidden characters as \u escapes. They can only
// stand in strings, whose values stay the same. The document must be UTF-8.
func JSON(document []byte) []byte {
	hides := func(r rune) bool { return r >= 0x7f && Hidden(r) } // those below are white space, or escapes already
	if bytes.IndexFunc(document, hides) < 0 {
		return document
	}
	b := make([]byte, 0, len(document)+16)
	for i := 0; i < len(document); {
		r, n := utf8.DecodeRune(document[i:])
		if hides(r) {
			b = appendEscape(b, r)
		} else {
			b = append(b, document[i:i+n]...)
		}
		i += n
	}
	return b
}

// TOML is s as a string of TOML in double quotes. s must be UTF-8, as TOML is.
func TOML(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n' || r == '\t' || r == '\r':
			b = appendEscape(b, r)
		case Hidden(r) && r > 0xffff:
			b = append(b, `\U000`...)
			const digits = "0123456789abcdef"
			for shift := 16; shift >= 0; shift -= 4 {
				b = append(b, digits[r>>shift&15])
			}
		case Hidden(r):
			b = appendEscape(b, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}

// XMLComment is s as the text of an XML comment: ASCII on one line, without "--".
// Other characters are spaces.
func XMLComment(s string) string {
	s = ASCII(s)
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "- -")
	}
	return s
}

// ASCII is s on one line in printable ASCII, for readers that know nothing else.
// Other characters are spaces.
func ASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
}
