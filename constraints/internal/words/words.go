package words

import (
	"fmt"
	"strings"
)

// MaxNamed is the number of items that a list names.
const MaxNamed = 8

// List names n items, or the first MaxNamed and how many more there are. It returns
// "" if n is 0.
func List(n int, name func(i int) string) string {
	var named []string
	for i := range min(n, MaxNamed) {
		named = append(named, name(i))
	}
	last := len(named) - 1
	switch {
	case n > MaxNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(named, ", "), n-MaxNamed)
	case n > 1:
		return strings.Join(named[:last], ", ") + " and " + named[last]
	}
	return strings.Join(named, "")
}
