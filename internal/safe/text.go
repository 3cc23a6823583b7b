package safe

import "strings"

// Terminal is s with hidden characters as escapes. Newlines and tabs stay, and \r
// where a newline follows it.
func Terminal(s string) string {
	parts := strings.Split(s, "\r\n")
	for i, p := range parts {
		parts[i] = escaped(p, func(r rune) bool { return r == '\n' || r == '\t' })
	}
	return strings.Join(parts, "\r\n")
}

// Line is s on one line: white space of any kind is a space, and hidden characters
// are escapes.
func Line(s string) string {
	return escaped(strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\v', '\f', '\u0085', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, validOrEscaped(s)), func(rune) bool { return false })
}

// validOrEscaped keeps strings.Map from turning bytes that are no UTF-8 into U+FFFD.
func validOrEscaped(s string) string { return escaped(s, func(rune) bool { return true }) }
