package data

import (
	"math"

	"github.com/colltune/colltune/compiler/collective"
)

// blockElements is how many elements are worked out at a time.
const blockElements = 1 << 10

// expect hands over a rank's right output piece by piece: where each begins in
// the output, in bytes, and what it is, the caller's to read until it returns.
// What may hold anything is left out.
func (r *Reference) expect(rank int, each func(first int64, right []byte)) {
	size := int64(r.Layout.ElemBytes)
	var block []byte
	for i := range r.Collective.OutChunks(rank) {
		first, n := r.Layout.Start(i)*size, r.Layout.Elements(i)
		w := r.Collective.Want(rank, i)
		switch w.Kind {
		case collective.WantReduction:
			each(first, r.reduced(w.Index))
		case collective.WantSum:
			right := make([]byte, n*size)
			r.fold(right, w.Of)
			each(first, right)
		case collective.WantInput:
			if block == nil {
				block = make([]byte, min(blockElements, r.Layout.ChunkElements)*size)
			}
			for at := int64(0); at < n; at += blockElements {
				right := block[:min(blockElements, n-at)*size]
				r.Params.Fill(right, w.Rank, r.Layout.Start(w.Index)+at)
				each(first+at*size, right)
			}
		}
	}
}

// reduced is the reduction of an input chunk over all ranks.
func (r *Reference) reduced(index int) []byte {
	c := &r.reductions[index]
	c.once.Do(func() {
		c.right = make([]byte, r.Layout.Elements(index)*int64(r.Layout.ElemBytes))
		r.fold(c.right, r.terms(collective.Want{Kind: collective.WantReduction, Index: index}))
	})
	return c.right
}

// fold writes the reduction of input chunks, one term after another.
func (r *Reference) fold(right []byte, terms []collective.Place) {
	size := r.Layout.ElemBytes
	n := len(right) / size
	floats, whole := make([]float64, blockElements), make([]uint64, blockElements)
	for at := 0; at < n; at += blockElements {
		block := right[at*size : min(at+blockElements, n)*size]
		if r.DType.Float() {
			r.foldFloats(block, floats[:len(block)/size], terms, int64(at))
		} else {
			r.foldIntegers(block, whole[:len(block)/size], terms, int64(at))
		}
	}
}

// foldFloats works in f64, which holds every partial result exactly.
func (r *Reference) foldFloats(block []byte, acc []float64, terms []collective.Place, at int64) {
	for t, term := range terms {
		first := uint64(r.Layout.Start(term.Index) + at)
		for i := range acc {
			x := r.Params.number(uint32(term.Rank), first+uint64(i))
			switch {
			case t == 0:
				acc[i] = x
			case r.Op == Prod:
				acc[i] *= x
			case r.Op == Min:
				acc[i] = math.Min(acc[i], x)
			case r.Op == Max:
				acc[i] = math.Max(acc[i], x)
			default:
				acc[i] += x
			}
		}
	}
	for i, x := range acc {
		if r.Op == Avg {
			x /= float64(len(terms))
		}
		put(block[i*r.Layout.ElemBytes:], r.Layout.ElemBytes, toBits(r.DType, x))
	}
}

// foldIntegers works modulo 2^64. Shifted up, what an element does not use of
// its 64 bits changes no comparison, and shifted down again it has its sign.
func (r *Reference) foldIntegers(block []byte, acc []uint64, terms []collective.Place, at int64) {
	unused := 64 - 8*r.DType.Bytes()
	less := func(a, b uint64) bool { return a<<unused < b<<unused }
	if r.DType.Signed() {
		less = func(a, b uint64) bool { return int64(a<<unused) < int64(b<<unused) }
	}
	for t, term := range terms {
		first := r.Layout.Start(term.Index) + at
		for i := range acc {
			x := r.Params.Value(term.Rank, first+int64(i))
			switch {
			case t == 0:
				acc[i] = x
			case r.Op == Sum, r.Op == Avg:
				acc[i] += x
			case r.Op == Prod:
				acc[i] *= x
			case r.Op == Min && less(x, acc[i]), r.Op == Max && less(acc[i], x):
				acc[i] = x
			}
		}
	}
	for i, x := range acc {
		switch {
		case r.Op == Avg && r.DType.Signed():
			x = uint64(int64(x<<unused) >> unused / int64(len(terms)))
		case r.Op == Avg:
			x = x << unused >> unused / uint64(len(terms))
		}
		put(block[i*r.Layout.ElemBytes:], r.Layout.ElemBytes, x)
	}
}
