package safe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Shell is s as one word of a command to type, in quotes where it needs them. What
// has hidden characters is written with escapes, $'\033', which sh reads since
// POSIX 2024, and bash, ksh and zsh always.
func Shell(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, Hidden) < 0 {
		if isPlain(s) {
			return s
		}
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	b := []byte("$'")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1 || Hidden(r):
			for _, c := range []byte(s[i : i+n]) {
				b = fmt.Appendf(b, `\%03o`, c) // not \x: digits that follow would be read as its own
			}
		case r == '\'' || r == '\\':
			b = append(b, '\\', byte(r))
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(append(b, '\''))
}

func isPlain(s string) bool {
	return s != "" && s[0] != '=' && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/=@+%", r))
	}) < 0
}

// Path is Shell of a path given as an argument: one that begins with - gets ./ in
// front, because a command would take it for an option.
func Path(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return Shell(path)
}
