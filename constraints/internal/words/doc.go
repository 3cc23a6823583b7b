// Package words prints lists in English, for messages.
//
//	words.List(3, name)     gpu 0, gpu 3 and gpu 5
//	words.List(99, name)    gpu 0, gpu 1, … and 91 more
//
// A list names at most MaxNamed items.
package words
