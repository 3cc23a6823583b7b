package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/table"
)

// clip makes a text fit for a page, and cuts it to length: a journal may hold any
// text. The page's template makes it HTML.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return safe.Terminal(s[:i]) + "…"
		}
	}
	return safe.Terminal(s)
}

// The longest texts of each kind, in letters.
const (
	nameRoom = 80
	wordRoom = 40
	noteRoom = 300
)

// sizeText prints bytes as the tables do: 64K.
func sizeText(n int64) string { return units.Bytes(n).String() }

// rangeText prints a range of sizes.
func rangeText(first, last int64) string {
	if first == last {
		return sizeText(first)
	}
	return sizeText(first) + " to " + sizeText(last)
}

// brief prints a number as the winning table does.
func brief(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func briefOr(v *float64) string {
	if v == nil {
		return ""
	}
	return brief(*v)
}

// bandText prints the interval of a simulated figure.
func bandText(b *[2]float64) string {
	if b == nil {
		return ""
	}
	return brief(b[0]) + "–" + brief(b[1])
}

// parametersText prints parameters as the winning table does: a=1 b=ring, and only
// the beginning of long ones.
func parametersText(parameters map[string]any) string {
	words := lists.Map(table.ParametersWords(parameters), func(word string) string { return clip(word, wordRoom) })
	return clip(strings.Join(words, " "), noteRoom)
}

// byCount lists the names that are counted, the most frequent first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// capital is a text with a capital letter first.
func capital(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}
