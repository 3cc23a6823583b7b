package tuning

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/safe"
)

// maxLine is the longest line of comment that is written: the reader of NCCL's example tuner
// takes at most 255 bytes in one piece, and the rest of a longer line for another row.
const maxLine = 200

// comment writes lines behind #.
func comment(b *bytes.Buffer, head []string) {
	for _, line := range head {
		line = safe.Line(line)
		for line != "" {
			n := min(len(line), maxLine)
			for n < len(line) && !utf8.RuneStart(line[n]) {
				n--
			}
			fmt.Fprintf(b, "# %s\n", line[:n])
			line = line[n:]
		}
	}
}

// maxEntries is the most entries of a file that are read.
const maxEntries = 1_000_000

// entries are the numbered lines of a file that are neither blank nor comments.
func entries(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range bytes.Lines(text) {
			n++
			if s := strings.TrimSpace(string(line)); s != "" && s[0] != '#' && !yield(n, s) {
				return
			}
		}
	}
}

// lineError is the error of a line.
func lineError(name string, line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
}

// variables reads lines of export NAME=VALUE, of which a later one counts.
func variables(name string, text []byte) (map[string]string, error) {
	values := map[string]string{}
	for n, line := range entries(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		if !ok || key == "" || strings.ContainsAny(key, " \t\"'$") {
			return nil, lineError(name, n, "%.60q: want export NAME=VALUE", line)
		}
		if values[key] = value; len(values) > maxEntries {
			return nil, lineError(name, n, "more than %d variables", maxEntries)
		}
	}
	return values, nil
}

// FileWord makes a text fit for a part of a file's name.
func FileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, s)
}

// scopeWord names a scope in a file's name.
func scopeWord(s Scope) string { return FileWord(s.Collective) + "-" + strconv.Itoa(s.Ranks) + "r" }
