package tuning

import (
	"bytes"
	"fmt"
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

// FileWord makes a text fit for a part of a file's name.
func FileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, s)
}

func scopeWord(s Scope) string { return FileWord(s.Collective) + "-" + strconv.Itoa(s.Ranks) + "r" }
