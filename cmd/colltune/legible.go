package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longWord is how many bytes of an error's word are printed. A path may have many;
// what a broken file has in place of a number may be the rest of the file.
const longWord = 1000

// legible is an error's text as a terminal may be given it: what was quoted from a
// file stays short, and does not move the cursor.
func legible(text string) string {
	var b strings.Builder
	word := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if word += n; unicode.IsSpace(r) {
			word = 0
		}
		switch {
		case word > longWord:
			if n = strings.IndexFunc(text[i:], unicode.IsSpace); n < 0 {
				n = len(text) - i
			}
			fmt.Fprintf(&b, "… (%d bytes more)", n)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsControl(r) && r != '\n' && r != '\t', unicode.Is(unicode.Bidi_Control, r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}
