package data

import (
	"runtime"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
)

const (
	// blockElements is how many elements are computed at a time, so that the
	// working set stays in the first-level cache.
	blockElements = 1 << 10
	// leastPart is the number of elements from which another goroutine pays off.
	leastPart = 1 << 16
)

// expect calls each with successive pieces of a rank's correct output and their
// offsets in bytes. The piece is only valid during the call. Chunks without a wanted value
// are skipped.
func (r *Reference) expect(rank int, each func(first int64, right []byte)) {
	size := int64(r.Layout.ElemBytes)
	var some []byte
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
			if some == nil {
				some = make([]byte, min(blockElements, r.Layout.ChunkElements)*size)
			}
			for at := int64(0); at < n; at += blockElements {
				right := some[:min(blockElements, n-at)*size]
				r.Params.Fill(right, w.Rank, r.Layout.Start(w.Index)+at)
				each(first+at*size, right)
			}
		}
	}
}

// reduced returns the reduction of an input chunk over all ranks. It is computed once.
func (r *Reference) reduced(index int) []byte {
	c := &r.reductions[index]
	c.once.Do(func() {
		c.right = make([]byte, r.Layout.Elements(index)*int64(r.Layout.ElemBytes))
		r.fold(c.right, r.terms(collective.Want{Kind: collective.WantReduction, Index: index}))
	})
	return c.right
}

// fold writes the reduction of the terms' input chunks, splitting large chunks
// over several goroutines.
func (r *Reference) fold(right []byte, terms []collective.Place) {
	n := len(right) / r.Layout.ElemBytes
	parts := min(runtime.GOMAXPROCS(0), n/leastPart+1)
	each := (n/parts/blockElements + 1) * blockElements
	var all sync.WaitGroup
	for from := 0; from < n; from += each {
		part := right[from*r.Layout.ElemBytes : min(from+each, n)*r.Layout.ElemBytes]
		if from+each >= n {
			r.foldPart(part, terms, int64(from)) // the last part runs on this goroutine
			break
		}
		all.Go(func() { r.foldPart(part, terms, int64(from)) })
	}
	all.Wait()
}

// foldPart does the same for a part of the chunks that begins at element from.
func (r *Reference) foldPart(right []byte, terms []collective.Place, from int64) {
	var acc, next block
	size := r.Layout.ElemBytes
	for len(right) > 0 {
		n := min(len(right)/size, blockElements)
		if r.DType.Float() {
			r.foldFloats(right[:n*size], acc.floats[:n], next.floats[:n], terms, from)
		} else {
			r.foldIntegers(right[:n*size], acc.whole[:n], next.whole[:n], terms, from)
		}
		right, from = right[n*size:], from+int64(n)
	}
}

// block is working memory for a block of elements of either kind.
type block struct {
	floats [blockElements]float64
	whole  [blockElements]uint64
}

// foldFloats computes in f64, which represents every partial result exactly.
func (r *Reference) foldFloats(right []byte, acc, next []float64, terms []collective.Place, at int64) {
	for t, term := range terms {
		into := next
		if t == 0 {
			into = acc
		}
		r.Params.numbers(into, term.Rank, r.Layout.Start(term.Index)+at)
		if t > 0 {
			foldings[r.Op].floats(acc, next)
		}
	}
	if r.Op == Avg {
		for i := range acc {
			acc[i] /= float64(len(terms))
		}
	}
	storeFloats(right, r.DType, acc)
}

// foldIntegers computes modulo 2^64. For min and max, elements are shifted to the
// top of the word and, if signed, have their sign bit flipped: comparing the words
// as unsigned numbers then orders the elements correctly.
func (r *Reference) foldIntegers(right []byte, acc, next []uint64, terms []collective.Place, at int64) {
	unused, turned := 64-8*r.DType.Bytes(), uint64(0)
	if r.DType.Signed() {
		turned = 1 << 63
	}
	compared := r.Op == Min || r.Op == Max
	for t, term := range terms {
		into := next
		if t == 0 {
			into = acc
		}
		r.Params.bits(into, term.Rank, r.Layout.Start(term.Index)+at)
		if compared {
			for i, x := range into {
				into[i] = x<<unused ^ turned
			}
		}
		if t > 0 {
			foldings[r.Op].integers(acc, next)
		}
	}
	switch {
	case compared:
		for i, x := range acc {
			acc[i] = (x ^ turned) >> unused
		}
	case r.Op == Avg && r.DType.Signed():
		for i, x := range acc {
			acc[i] = uint64(int64(x<<unused) >> unused / int64(len(terms)))
		}
	case r.Op == Avg:
		for i, x := range acc {
			acc[i] = x << unused >> unused / uint64(len(terms))
		}
	}
	storeBits(right, r.DType.Bytes(), acc)
}

// foldings combine the elements of the next term with the result so far.
var foldings = [...]struct {
	floats   func(acc, next []float64)
	integers func(acc, next []uint64)
}{
	Sum:  {addAll[float64], addAll[uint64]},
	Prod: {multiplyAll[float64], multiplyAll[uint64]},
	Min:  {leastAll[float64], leastAll[uint64]},
	Max:  {mostAll[float64], mostAll[uint64]},
	Avg:  {addAll[float64], addAll[uint64]},
}

func addAll[T float64 | uint64](acc, next []T) {
	for i := range next {
		acc[i] += next[i]
	}
}

func multiplyAll[T float64 | uint64](acc, next []T) {
	for i := range next {
		acc[i] *= next[i]
	}
}

func leastAll[T float64 | uint64](acc, next []T) {
	for i := range next {
		acc[i] = min(acc[i], next[i])
	}
}

func mostAll[T float64 | uint64](acc, next []T) {
	for i := range next {
		acc[i] = max(acc[i], next[i])
	}
}
