package data

import (
	"bytes"
	"encoding/binary"
	"math"
)

const (
	// GuardBytes is how many bytes of Guard lie before and behind a buffer.
	GuardBytes = 256
	// Guard is what they hold.
	Guard byte = 0x5c
)

// Poison is an element that spoils what it comes into: for min the least there
// is, for max and for sums and products of floats the greatest, an even number
// for products of integers, which have only odd factors, and for all else a
// pattern.
func Poison(d DType, op Op, reduces bool) uint64 {
	const pattern, even = 0xa5a5a5a5a5a5a5a5, 0xa4a4a4a4a4a4a4a4
	low := mask(d)>>1 + 1 // the sign bit alone
	switch {
	case !reduces:
		return pattern & mask(d)
	case d.Float() && op == Min:
		return toBits(d, math.Inf(-1))
	case d.Float():
		return toBits(d, math.Inf(1))
	case op == Prod:
		return even & mask(d)
	case op == Min && d.Signed():
		return low
	case op == Min:
		return 0
	case op == Max && d.Signed():
		return low - 1
	case op == Max:
		return mask(d)
	}
	return pattern & mask(d)
}

// Spread fills a buffer with one element.
func Spread(dst []byte, elemBytes int, bits uint64) {
	if len(dst) == 0 {
		return
	}
	put(dst, elemBytes, bits)
	for done := elemBytes; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// complement writes what differs from every element of another run of bytes.
func complement(dst, of []byte) {
	for ; len(of) >= 8 && len(dst) >= 8; dst, of = dst[8:], of[8:] {
		binary.LittleEndian.PutUint64(dst, ^binary.LittleEndian.Uint64(of))
	}
	for i, x := range of {
		dst[i] = ^x
	}
}

// Guarded is a buffer with guards around it.
type Guarded struct{ all []byte }

// NewGuarded makes a buffer of n bytes. Buffers begin at multiples of 64 bytes
// as far as the allocator's do.
func NewGuarded(n int64) *Guarded {
	g := &Guarded{all: make([]byte, n+2*GuardBytes)}
	Spread(g.all[:GuardBytes], 1, uint64(Guard))
	Spread(g.all[n+GuardBytes:], 1, uint64(Guard))
	return g
}

// Bytes is the buffer without its guards.
func (g *Guarded) Bytes() []byte {
	n := len(g.all) - GuardBytes
	return g.all[GuardBytes:n:n]
}

// Damaged counts the bytes of the guards that have changed.
func (g *Guarded) Damaged() int64 {
	return damaged(g.all[:GuardBytes]) + damaged(g.all[len(g.all)-GuardBytes:])
}

func damaged(b []byte) int64 { return int64(len(b) - bytes.Count(b, []byte{Guard})) }
