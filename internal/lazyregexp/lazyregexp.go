package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call, and returns the same
// regular expression at each. The call panics if expr is not one.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
