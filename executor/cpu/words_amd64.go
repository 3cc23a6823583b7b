//go:build !race

package cpu

// storeWords stores n words of four bytes of data and a mark in the upper half,
// as LL has them: words that others look at meanwhile, each there as a whole or
// not at all. Go's own atomic stores also wait for each word to be seen, which
// nobody asks of LL and which takes ten times as long.
//
//go:noescape
func storeWords(words *uint64, data *byte, mark uint64, n int)
