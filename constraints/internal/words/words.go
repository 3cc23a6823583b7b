package words

import (
	"fmt"
	"strings"
)

// Most is how many things a list names.
const Most = 8

// List names so many things, or those first.
func List(n int, name func(i int) string) string {
	var named []string
	for i := range min(n, Most) {
		named = append(named, name(i))
	}
	last := len(named) - 1
	switch {
	case n > Most:
		return fmt.Sprintf("%s and %d more", strings.Join(named, ", "), n-Most)
	case n > 1:
		return strings.Join(named[:last], ", ") + " and " + named[last]
	}
	return strings.Join(named, "")
}
