package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// halves are the 16-bit floats as half.go says them plainly.
var halves = []struct {
	dtype DType
	from  func(uint16) float32
	to    func(float32) uint16
	round func(float32) uint16
}{
	{F16, FromF16, ToF16, roundF16},
	{BF16, FromBF16, ToBF16, roundBF16},
}

// TestRoundingOfHalves: every value of an f32's upper half, with the fractions
// below it that decide how it is rounded, and any bits at all.
func TestRoundingOfHalves(t *testing.T) {
	any := rand.New(rand.NewPCG(1, 2))
	for _, h := range halves {
		check := func(bits uint32) {
			x := math.Float32frombits(bits)
			if got, want := h.round(x), h.to(x); got != want && (x == x || h.from(got) == h.from(got)) {
				t.Fatalf("%s of %v (%#x) is %#x, want %#x", h.dtype, x, bits, got, want)
			}
		}
		for upper := range uint32(1 << 16) {
			for _, lower := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xffff} {
				check(upper<<16 | lower)
			}
		}
		for range 1_000_000 {
			check(any.Uint32())
		}
	}
}

// TestReductionsOfHalves holds the reducers to one element after another: every
// pattern with itself, with each other that is special, and with any.
func TestReductionsOfHalves(t *testing.T) {
	plain := [4]func(x, y float32) float32{
		Sum:  func(x, y float32) float32 { return x + y },
		Prod: func(x, y float32) float32 { return x * y },
		Min:  func(x, y float32) float32 { return min(x, y) },
		Max:  func(x, y float32) float32 { return max(x, y) },
	}
	const n = 1 << 16
	any := rand.New(rand.NewPCG(3, 4))
	left := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(left[2*i:], uint16(i))
	}
	partners := map[string]func(i int) uint16{
		"itself":       func(i int) uint16 { return uint16(i) },
		"its negative": func(i int) uint16 { return uint16(i) ^ 0x8000 },
	}
	for _, special := range []uint16{0, 0x8000, 1, 0x8001, 0x3c00, 0x3f80, 0x7bff, 0x7f7f, 0x7c00, 0x7f80, 0xfc00, 0xff80, 0x7e00, 0x7fc0, 0x400, 0x80} {
		partners[fmt.Sprintf("%#x", special)] = func(int) uint16 { return special }
	}
	for round := range 8 {
		partners[fmt.Sprint("any ", round)] = func(int) uint16 { return uint16(any.Uint32()) }
	}
	for _, h := range halves {
		for with, partner := range partners {
			right, got := make([]byte, 2*n), make([]byte, 2*n)
			for i := range n {
				binary.LittleEndian.PutUint16(right[2*i:], partner(i))
			}
			for op := range plain {
				Reduction(h.dtype, Op(op))(got, left, right)
				for i := range n {
					x, y := uint16(i), binary.LittleEndian.Uint16(right[2*i:])
					want, is := h.to(plain[op](h.from(x), h.from(y))), binary.LittleEndian.Uint16(got[2*i:])
					if v := h.from(want); is != want && (v == v || h.from(is) == h.from(is)) { // which no number is nobody's matter
						t.Fatalf("%s %s of %#x and %#x (with %s) is %#x, want %#x", h.dtype, Op(op), x, y, with, is, want)
					}
				}
			}
		}
	}
}
