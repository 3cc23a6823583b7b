// Package words puts lists in words, for messages.
//
//	words.List(3, name)     gpu 0, gpu 3 and gpu 5
//	words.List(99, name)    gpu 0, gpu 1, … and 91 more
//
// Invariant: no list names more than Most.
//
// It knows nothing of what is listed.
package words
