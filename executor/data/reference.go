package data

import (
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
)

// Reference knows the inputs of a call and what must come out.
type Reference struct {
	Collective collective.Collective
	Layout     Layout
	DType      DType
	Op         Op
	Params     Params

	// What every rank's input chunk reduces to, by its index, worked out when
	// first asked for: most ranks want the same.
	reductions []reduction
}

type reduction struct {
	once  sync.Once
	right []byte
}

// Buffers are what a rank's program works on, as collective.Place lays them:
// a buffer that lies in the other is nil.
type Buffers struct {
	In, Out, Scratch []byte
}

// NewReference is the reference of a call of so many bytes. A custom collective
// may ask for more than a type can hold exactly; that is an error.
func NewReference(c collective.Collective, bytes int64, d DType, op Op, seed int64) (*Reference, error) {
	l, err := NewLayout(c, bytes, d)
	if err != nil {
		return nil, err
	}
	terms, sums := 0, 0
	if c.Reduces() {
		terms = c.Ranks
		if c.Custom != nil {
			for _, wants := range c.Custom.Want {
				for _, w := range wants {
					sums = max(sums, len(w.Of))
				}
			}
		}
	}
	r := &Reference{Collective: c, Layout: l, DType: d, Op: op, Params: NewParams(d, op, max(terms, sums), seed)}
	// Turns are taken among equal elements of all ranks. The terms of a custom sum
	// need not be equal elements.
	if sums > 0 && r.Params.K > 1 {
		return nil, fmt.Errorf("%s reduces %d chunks into one: %s has no inputs whose %s is exact in any order", c.Name, max(terms, sums), d, op)
	}
	if c.Reduces() {
		r.reductions = make([]reduction, c.LoopChunks())
	}
	return r, nil
}

// Input fills b with the input of a rank, from element first on.
func (r *Reference) Input(b []byte, rank int, first int64) { r.Params.Fill(b, rank, first) }

// view is where an in-place call's smaller buffer lies in the larger, or the
// buffer itself.
func (r *Reference) view(rank int, of collective.Buffer, b *Buffers) []byte {
	chunks := r.Collective.InChunks(rank)
	if of == collective.Out {
		chunks = r.Collective.OutChunks(rank)
	}
	if chunks == 0 {
		return nil
	}
	at, first := r.Collective.Place(rank, of, 0)
	whole := b.In
	if at == collective.Out {
		whole = b.Out
	}
	size := int64(r.Layout.ElemBytes)
	from := r.Layout.Start(first) * size
	return whole[from : from+r.Layout.UserBytes(chunks)]
}

// Init gives a rank its input, and poison everywhere else.
func (r *Reference) Init(rank int, b *Buffers) {
	poison := Poison(r.DType, r.Op, r.Collective.Reduces())
	for _, buffer := range [][]byte{b.In, b.Out, b.Scratch} {
		Spread(buffer, r.Layout.ElemBytes, poison)
	}
	out := r.view(rank, collective.Out, b)
	r.expect(rank, func(first int64, right []byte) {
		complement(out[first:][:len(right)], right)
	})
	r.Input(r.view(rank, collective.In, b), rank, 0)
}

// Wrong counts the elements of a rank's output that are not what they must be.
func (r *Reference) Wrong(rank int, b *Buffers) int64 {
	out := r.view(rank, collective.Out, b)
	wrong, n := int64(0), r.Layout.ElemBytes
	r.expect(rank, func(first int64, right []byte) {
		got := out[first:][:len(right)]
		if string(got) == string(right) {
			return
		}
		for i := 0; i < len(right); i += n {
			if string(got[i:i+n]) != string(right[i:i+n]) {
				wrong++
			}
		}
	})
	return wrong
}

// Terms are the input chunks that output chunk i of a rank is the reduction of,
// one where it is a copy; none where it may hold anything.
func (r *Reference) Terms(rank, i int) []collective.Place {
	return r.terms(r.Collective.Want(rank, i))
}

func (r *Reference) terms(w collective.Want) []collective.Place {
	switch w.Kind {
	case collective.WantInput:
		return []collective.Place{{Rank: w.Rank, Index: w.Index}}
	case collective.WantReduction:
		all := make([]collective.Place, r.Collective.Ranks)
		for rank := range all {
			all[rank] = collective.Place{Rank: rank, Index: w.Index}
		}
		return all
	case collective.WantSum:
		return w.Of
	}
	return nil
}

// Average divides what a rank's program has left of its reductions, with sum, by
// the number of their terms: the last part of avg.
func (r *Reference) Average(rank int, b *Buffers) {
	out := r.view(rank, collective.Out, b)
	size := int64(r.Layout.ElemBytes)
	for i := range r.Collective.OutChunks(rank) {
		w := r.Collective.Want(rank, i)
		n := len(w.Of)
		if w.Kind == collective.WantReduction {
			n = r.Collective.Ranks
		}
		if w.Kind >= collective.WantReduction {
			Divide(r.DType, out[r.Layout.Start(i)*size:r.Layout.Start(i+1)*size], n)
		}
	}
}

// Sizes are the bytes of a rank's buffers, as collective.Place lays them, with
// so many chunks of scratch.
func (r *Reference) Sizes(rank, scratch int) (in, out, sc int64) {
	c := r.Collective
	return r.Layout.UserBytes(c.BufferChunks(rank, collective.In)), r.Layout.UserBytes(c.BufferChunks(rank, collective.Out)), r.Layout.ScratchBytes(scratch)
}
