package cpu

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/colltune/colltune/topologies"
)

// connection is a FIFO from a threadblock of one rank to one of another: slots in memory,
// each for one call, and two counters. The protocol defines the content of a slot:
//
//	Simple   the bytes, in two slices, each there when the tail says so
//	LL       words of 4 bytes and a flag of 4: a word is there when its flag is the call's
//	LL128    lines of 120 bytes and a flag of 8: a line is there when its flag is
//
// The receiver of LL and LL128 polls the flags alone; the tail wakes it if it went to sleep
// over them.
type connection struct {
	proto  topologies.Proto
	slots  uint64
	stride int // bytes, or words, from slot to slot
	bytes  []byte
	words  []uint64

	tail counter // Simple: slices sent, else calls
	head counter // the same, received
}

// A word of LL holds 4 bytes of data, a line of LL128 15 words of data.
const (
	wordData  = 4
	lineWords = 16
	lineBytes = lineWords * 8
	lineData  = (lineWords - 1) * 8
	// sliceCount is the number of parts in which a call of Simple is posted (NCCL's
	// chunkSteps ÷ sliceSteps).
	sliceCount = 2
	// minSlice is the least size in bytes of a call's first slice of two.
	minSlice = 32 << 10
)

// slotMemory returns the memory of a slot that holds data bytes.
func slotMemory(proto topologies.Proto, data int64) int64 {
	switch proto {
	case topologies.LL:
		return (data + wordData - 1) / wordData * 8
	case topologies.LL128:
		return (data + lineData - 1) / lineData * lineWords * 8
	}
	return (data + 63) / 64 * 64
}

func (c *connection) allocate(slotSize int64) {
	all := slotMemory(c.proto, slotSize)
	if c.proto == topologies.Simple {
		c.stride = int(all)
		c.bytes = make([]byte, int64(c.slots)*all)
		return
	}
	c.stride = int(all / 8)
	c.words = make([]uint64, int64(c.slots)*all/8)
}

// firstSlice returns the size of the first slice of a call of n bytes.
func firstSlice(n int) int { return min(max((n+31)/32*16, minSlice), n) }

// slot returns a call's slot as words, under LL and LL128.
func (c *connection) slot(call uint64) []uint64 {
	at := int(call%c.slots) * c.stride
	return c.words[at : at+c.stride]
}

// slotBytes returns a call's slot under Simple.
func (c *connection) slotBytes(call uint64) []byte {
	at := int(call%c.slots) * c.stride
	return c.bytes[at : at+c.stride]
}

// lines returns a call's slot as bytes, under LL128.
func (c *connection) lines(call uint64) []byte {
	words := c.slot(call)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// flag returns the flag of a call's words. It differs from that of the slot's previous
// call.
func flag(call uint64) uint32 { return uint32(call + 1) }

// putWords sends b, the bytes from at on of a call, in words of data and flag.
func (c *connection) putWords(call uint64, at int, b []byte) {
	words, mark := c.slot(call)[at/wordData:], uint64(flag(call))<<32
	n := len(b) / wordData
	if n > 0 {
		storeWords(&words[:n][0], &b[0], mark, n)
	}
	if rest := b[n*wordData:]; len(rest) > 0 {
		var last [wordData]byte
		copy(last[:], rest)
		atomic.StoreUint64(&words[n], mark|uint64(binary.LittleEndian.Uint32(last[:])))
	}
}

// takeWords receives the bytes from at on of a call into b. It returns false if the run was
// stopped before they came.
func (c *connection) takeWords(t *block, call uint64, at int, b []byte) bool {
	words, mark := c.slot(call)[at/wordData:][:(len(b)+wordData-1)/wordData], flag(call)
	for {
		n := loadWords(b, words, mark)
		if n == len(words) {
			return true
		}
		b, words = b[n*wordData:], words[n:]
		if len(b) < wordData && uint32(atomic.LoadUint64(&words[0])>>32) == mark {
			var last [wordData]byte
			binary.LittleEndian.PutUint32(last[:], uint32(atomic.LoadUint64(&words[0])))
			copy(b, last[:])
			return true
		}
		if !t.look(c, call) {
			return false
		}
	}
}

// loadWords copies the data of words to b, until b is full or a word has not come,
// and returns how many were copied.
func loadWords(b []byte, words []uint64, mark uint32) int {
	for i := range words {
		w := atomic.LoadUint64(&words[i])
		if uint32(w>>32) != mark || len(b) < wordData {
			return i
		}
		binary.LittleEndian.PutUint32(b, uint32(w))
		b = b[wordData:]
	}
	return len(words)
}

// putLines sends b, the bytes from at on of a call, in lines: first the data, then
// the flag.
func (c *connection) putLines(call uint64, at int, b []byte) {
	slot, words, mark := c.lines(call), c.slot(call), uint64(flag(call))
	for line := at / lineData; len(b) > 0; line++ {
		n := copy(slot[line*lineBytes:][:lineData], b)
		atomic.StoreUint64(&words[line*lineWords+lineWords-1], mark)
		b = b[n:]
	}
}

// takeLines receives the bytes from at on of a call into b. It returns false if the run was
// stopped before they came.
func (c *connection) takeLines(t *block, call uint64, at int, b []byte) bool {
	slot, words, mark := c.lines(call), c.slot(call), uint64(flag(call))
	for line := at / lineData; len(b) > 0; line++ {
		for atomic.LoadUint64(&words[line*lineWords+lineWords-1]) != mark {
			if !t.look(c, call) {
				return false
			}
		}
		n := copy(b, slot[line*lineBytes:][:lineData])
		b = b[n:]
	}
	return true
}
