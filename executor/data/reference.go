package data

import (
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
)

// Reference has the inputs of a call and its expected outputs. It is safe for concurrent
// use.
type Reference struct {
	Collective collective.Collective
	Layout     Layout
	DType      DType
	Op         Op
	Params     Params

	// reductions[i] is the reduction of input chunk i over all ranks. It is kept
	// because most ranks of a collective want the same chunks.
	reductions []reduction
}

type reduction struct {
	once  sync.Once
	right []byte
}

// Buffers is the memory of one rank, in the layout of collective.Place. In place, the
// buffer that lies within the other is nil.
type Buffers struct {
	In, Out, Scratch []byte
}

// NewReference returns the reference of a call of the given bytes, as nccl-tests counts
// them, with inputs of a seed. It returns an error for a size or a type that does not fit
// the collective, and for a custom collective whose sums have more terms than the type can
// add exactly. Expected reductions are computed when first needed, once.
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
	// Turns keep sums small only where all terms are the same element of different
	// ranks, which a custom sum does not promise.
	if sums > 0 && r.Params.K > 1 {
		return nil, fmt.Errorf("%s reduces %d chunks into one: %s has no inputs whose %s is exact in any order", c.Name, max(terms, sums), d, op)
	}
	if c.Reduces() {
		r.reductions = make([]reduction, c.LoopChunks())
	}
	return r, nil
}

// Input writes a rank's input to b, from element first on.
func (r *Reference) Input(b []byte, rank int, first int64) { r.Params.Fill(b, rank, first) }

// view returns a user's buffer. In place, the smaller buffer is a part of the
// larger.
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

// Init fills a rank's buffers: its input, and poison everywhere else.
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

// Wrong counts the incorrect elements of a rank's output.
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

// Terms lists the input chunks of whose reduction output chunk i of a rank consists: one
// for a copy, none for a chunk with any content.
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

// Average finishes avg: it divides the sums that a program left in a rank's output
// by the number of their terms.
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

// Sizes returns the bytes of a rank's buffers, for a number of chunks of scratch.
func (r *Reference) Sizes(rank, scratch int) (in, out, sc int64) {
	c := r.Collective
	return r.Layout.UserBytes(c.BufferChunks(rank, collective.In)), r.Layout.UserBytes(c.BufferChunks(rank, collective.Out)), r.Layout.ScratchBytes(scratch)
}
