package lang

import "github.com/colltune/colltune/compiler/collective"

// Ref is a reference to the values of some chunks at the time it was made. It
// can be used until one of them is overwritten (GC3 section 3.3).
type Ref struct {
	t    *Trace
	span Span
	seen int32 // number of operations traced when it was made
}

// Span returns the reference's chunks as canonical places. A buffer beyond
// Scratch was made by Named; see Trace.BufferName.
func (r *Ref) Span() Span { return r.span }

// Describe formats the reference's chunks with the program's own names.
func (r *Ref) Describe() string { return r.t.spanName(r.span) }

// Trace returns the Trace that the reference belongs to.
func (r *Ref) Trace() *Trace { return r.t }

// Chunk returns a reference to count chunks of rank's buffer: index,
// index+stride, … It returns an *Error if any of them is uninitialised or
// outside the buffer.
func (t *Trace) Chunk(rank int, buf collective.Buffer, index, count, stride int) (*Ref, error) {
	return newRef(func(to *Ref) error { return t.ChunkTo(to, rank, buf, index, count, stride) })
}

// ChunkTo is Chunk with the result written to *to, to avoid allocating. Errors are
// Chunk's.
func (t *Trace) ChunkTo(to *Ref, rank int, buf collective.Buffer, index, count, stride int) error {
	s, err := t.resolve(rank, buf, index, count, stride)
	if err != nil {
		return err
	}
	if err := t.checkInitialised(s); err != nil {
		return err
	}
	*to = t.ref(s)
	return nil
}

// checkInitialised returns an error if nothing has been written to a chunk of s.
func (t *Trace) checkInitialised(s Span) error {
	if t.sketch {
		return nil
	}
	b := t.buffer(s)
	for i := range s.Count {
		if at := s.Index + i*s.Stride; int(at) >= len(b) || b[at].value == nothing {
			place := t.spanName(Span{Rank: s.Rank, Buf: s.Buf, Index: at, Count: 1, Stride: 1})
			return &Error{Pos: t.pos, Msg: "uninitialised chunk: nothing has been written to " + place, Unset: true}
		}
	}
	return nil
}

func (t *Trace) ref(s Span) Ref { return Ref{t: t, span: s, seen: int32(t.ops.n)} }

// Copy copies the chunks to rank's buffer from index on, over channel ch (-1:
// chosen by the compiler), and returns a reference to the copy. Copying chunks
// onto themselves, as when input and output are one buffer, does nothing. An
// error is an *Error.
func (r *Ref) Copy(rank int, buf collective.Buffer, index, ch int) (*Ref, error) {
	return r.CopyStrided(rank, buf, index, 1, ch)
}

// CopyStrided is Copy to the chunks index, index+stride, … Errors are Copy's.
func (r *Ref) CopyStrided(rank int, buf collective.Buffer, index, stride, ch int) (*Ref, error) {
	return newRef(func(to *Ref) error { return r.CopyTo(to, rank, buf, index, stride, ch) })
}

// CopyTo is CopyStrided with the result written to *to, which may be r itself. Errors
// are Copy's.
func (r *Ref) CopyTo(to *Ref, rank int, buf collective.Buffer, index, stride, ch int) error {
	t, src := r.t, r.span
	dst, err := t.resolve(rank, buf, index, int(src.Count), stride)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if dst != src {
		if err := t.copy(src, dst, ch); err != nil {
			return err
		}
	}
	*to = t.ref(dst)
	return nil
}

// copy records the copy of src, which is initialised, to dst.
func (t *Trace) copy(src, dst Span, ch int) error {
	if overlap(src, dst) {
		return t.errorf("copy of %s to %s: source and destination overlap", t.spanName(src), t.spanName(dst))
	}
	if err := t.checkMove(Copy, src, dst, ch); err != nil {
		return err
	}
	if t.sketch {
		return nil
	}
	read, written, now := t.buffer(src), t.buffer(dst), int32(t.ops.n)
	for i := range dst.Count {
		written[dst.Index+i*dst.Stride] = place{now, read[src.Index+i*src.Stride].value}
	}
	return nil
}

// Reduce adds other's chunks to r's, chunk by chunk, and returns a reference to
// the result, which is in place of r's chunks. ch is the channel, -1 for one
// chosen by the compiler. An error is an *Error.
func (r *Ref) Reduce(other *Ref, ch int) (*Ref, error) {
	return newRef(func(to *Ref) error { return r.ReduceTo(to, other, ch) })
}

// ReduceTo is Reduce with the result written to *to, which may be r or other. Errors are
// Reduce's.
func (r *Ref) ReduceTo(to, other *Ref, ch int) error {
	t := r.t
	if err := r.check(); err != nil {
		return err
	}
	if err := other.check(); err != nil {
		return err
	}
	if other.t != t {
		return t.errorf("reduce of chunks of two programs")
	}
	if err := t.reduce(other.span, r.span, ch); err != nil {
		return err
	}
	*to = t.ref(r.span)
	return nil
}

// reduce records the reduction of src into dst; both are initialised.
func (t *Trace) reduce(src, dst Span, ch int) error {
	switch {
	case !t.coll.Reduces():
		return t.errorf("%s has no reduction: reduce cannot be used in it", t.coll.Name)
	case dst.Count != src.Count:
		return t.errorf("reduce of %s with %s: %s and %s", t.spanName(dst), t.spanName(src), chunks(int(dst.Count)), chunks(int(src.Count)))
	case overlap(dst, src):
		return t.errorf("reduce of %s with %s: the same chunks", t.spanName(dst), t.spanName(src))
	}
	if err := t.checkMove(Reduce, src, dst, ch); err != nil {
		return err
	}
	if t.sketch {
		return nil
	}
	read, written, now := t.buffer(src), t.buffer(dst), int32(t.ops.n)
	for i := range dst.Count {
		p := &written[dst.Index+i*dst.Stride]
		v, ok := t.values.sum(p.value, read[src.Index+i*src.Stride].value)
		if !ok {
			return t.errorf("the program reduces more than %d chunks", MaxPlaces)
		}
		*p = place{now, v}
	}
	return nil
}

// newRef returns a new reference, which refer fills in.
func newRef(refer func(to *Ref) error) (*Ref, error) {
	to := new(Ref)
	if err := refer(to); err != nil {
		return nil, err
	}
	return to, nil
}

// checkMove makes the checks common to copy and reduce, and records the
// operation.
func (t *Trace) checkMove(k Kind, src, dst Span, ch int) error {
	if err := t.checkLink(int(src.Rank), int(dst.Rank)); err != nil {
		return err
	}
	if err := t.checkPeers(int(src.Rank), int(dst.Rank)); err != nil {
		return err
	}
	if err := t.checkWritable(dst); err != nil {
		return err
	}
	if err := t.growScratch(dst); err != nil {
		return err
	}
	return t.record(Op{Kind: k, Src: src, Dst: dst}, ch)
}

// check returns an error if one of the chunks has been overwritten since r was
// made.
func (r *Ref) check() error {
	if r.t.sketch {
		return nil
	}
	b := r.t.buffer(r.span)
	for i := range r.span.Count {
		if p := b[r.span.Index+i*r.span.Stride]; p.version > r.seen {
			at := Span{Rank: r.span.Rank, Buf: r.span.Buf, Index: r.span.Index + i*r.span.Stride, Count: 1, Stride: 1}
			return r.t.errorf("stale reference: %s has been overwritten at %v; refer to what is there now", r.t.spanName(at), r.t.posOf(p.version))
		}
	}
	return nil
}
