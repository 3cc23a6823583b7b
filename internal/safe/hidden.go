package safe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether a character shows nothing of its own, or changes how
// others are shown: control characters, marks for the direction of text, separators
// of lines and paragraphs, characters without width, and code points that are no
// characters. Tabs and newlines are control characters, and so hidden; spaces that
// have a width are not.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// appendEscape appends a character as JSON escapes it: \n, \u001b, \u202e, and two
// escapes for what is beyond 16 bits.
func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}

// escaped is s with its hidden characters, except those that stay, and its bytes
// that are no UTF-8 as escapes.
func escaped(s string, stays func(rune) bool) string {
	clean := func(r rune) bool { return !Hidden(r) || stays(r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, s[i])
		case clean(r):
			b = append(b, s[i:i+n]...)
		default:
			b = appendEscape(b, r)
		}
		i += n
	}
	return string(b)
}
