package data

import (
	"bytes"
	"encoding/binary"
	"math"
)

const (
	// GuardBytes is the size of the guard before a buffer, and of that behind it.
	GuardBytes = 256
	// Guard is the byte that guards are filled with.
	Guard byte = 0x5c
)

// Poison is a value that makes a result wrong if a program reads it by mistake.
// min gets the least value; max, and sums and products of floats, the greatest;
// products of integers an even number, since their inputs are all odd; anything
// else a fixed pattern.
func Poison(d DType, op Op, reduces bool) uint64 {
	const pattern, even = 0xa5a5a5a5a5a5a5a5, 0xa4a4a4a4a4a4a4a4
	low := mask(d)>>1 + 1 // only the sign bit set
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

// Spread fills a buffer with copies of one element.
func Spread(dst []byte, elemBytes int, bits uint64) {
	if len(dst) == 0 {
		return
	}
	put(dst, elemBytes, bits)
	for done := elemBytes; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// complement writes the bitwise complement of other bytes, so that every element
// differs.
func complement(dst, of []byte) {
	for ; len(of) >= 8 && len(dst) >= 8; dst, of = dst[8:], of[8:] {
		binary.LittleEndian.PutUint64(dst, ^binary.LittleEndian.Uint64(of))
	}
	for i, x := range of {
		dst[i] = ^x
	}
}

// Guarded is a buffer between two guards, which reveal writes beyond its ends.
type Guarded struct{ all []byte }

// NewGuarded returns a guarded buffer of n bytes. Guards are a multiple of 64 bytes, so the
// buffer is aligned as the allocation is.
func NewGuarded(n int64) *Guarded {
	g := &Guarded{all: make([]byte, n+2*GuardBytes)}
	Spread(g.all[:GuardBytes], 1, uint64(Guard))
	Spread(g.all[n+GuardBytes:], 1, uint64(Guard))
	return g
}

// Bytes returns the buffer without its guards.
func (g *Guarded) Bytes() []byte {
	n := len(g.all) - GuardBytes
	return g.all[GuardBytes:n:n]
}

// Damaged counts the bytes of the guards that have changed.
func (g *Guarded) Damaged() int64 {
	return damaged(g.all[:GuardBytes]) + damaged(g.all[len(g.all)-GuardBytes:])
}

func damaged(b []byte) int64 { return int64(len(b) - bytes.Count(b, []byte{Guard})) }
