package collective

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/files"
)

// maxCountsFile is the largest length of a text of counts, in bytes.
const maxCountsFile = 1 << 26

// ParseCounts reads the counts of a vector form: numbers, one for each rank or,
// for alltoallv, a row of them for each, separated by white space or commas; #
// begins a comment. Counts are relative: they are divided by their greatest
// common divisor, so that elements, bytes and parts are equally good. Errors
// begin with name:line.
//
//	# what each rank contributes
//	4096, 4096, 8192, 0
func ParseCounts(name string, text []byte) ([]int, error) {
	if len(text) > maxCountsFile {
		return nil, fmt.Errorf("%s: %d bytes: want at most %d", name, len(text), maxCountsFile)
	}
	var counts, lines []int
	for i, line := range strings.Split(string(files.TrimMark(text)), "\n") {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' }) {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%s:%d: count %.20q: want a number from 0", name, i+1, word)
			}
			counts, lines = append(counts, n), append(lines, i+1)
		}
	}
	if len(counts) == 0 {
		return nil, fmt.Errorf("%s: no counts in it", name)
	}
	least, sum := dividedByGCD(counts), 0
	for i, n := range least {
		taken := ""
		if n < counts[i] {
			taken = fmt.Sprintf(", %d with what divides them all taken out", n)
		}
		if n > maxUnits {
			return nil, fmt.Errorf("%s:%d: count %d%s: want at most %d", name, lines[i], counts[i], taken, maxUnits)
		}
		if sum += n; sum > maxUnits {
			return nil, fmt.Errorf("%s:%d: with count %d%s, there are %d in all: want at most %d", name, lines[i], counts[i], taken, sum, maxUnits)
		}
	}
	return least, nil
}

// FormatCounts formats counts for ParseCounts, aLine of them on each line.
func FormatCounts(counts []int, aLine int) string {
	var b strings.Builder
	for i, n := range counts {
		switch {
		case i == 0:
		case i%aLine == 0:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteByte('\n')
	return b.String()
}
