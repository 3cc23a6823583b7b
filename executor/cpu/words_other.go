//go:build !amd64 || race

package cpu

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// storeWords stores n words of four bytes of data and a mark in the upper half,
// as LL has them: words that others look at meanwhile, each there as a whole or
// not at all.
func storeWords(words *uint64, data *byte, mark uint64, n int) {
	from, to := unsafe.Slice(data, n*wordData), unsafe.Slice(words, n)
	for i := range to {
		atomic.StoreUint64(&to[i], mark|uint64(binary.LittleEndian.Uint32(from[i*wordData:])))
	}
}
