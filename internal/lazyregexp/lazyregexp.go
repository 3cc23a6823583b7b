// Package lazyregexp compiles regular expressions when they are first used, so that a
// package's patterns cost nothing at the start of a process that needs none of them.
//
//	var size = lazyregexp.New(`^[0-9]+$`)
//	size().MatchString(text)
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
