// Package lazyregexp compiles regular expressions when they are first used, so that a
// package's patterns cost nothing at the start of a process that needs none of them.
//
//	var size = lazyregexp.New(`^[0-9]+$`)
//	size().MatchString(text)
package lazyregexp
