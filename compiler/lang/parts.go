package lang

// References are split and grouped without moving data:
//
//	c               in[0:6]
//	c.Split(3)      in[0:2]  in[2:4]  in[4:6]
//	a.Group(b)      of in[0:2] and in[2:4]: in[0:4]

// Split cuts the reference into n of equal counts, in order. It returns an *Error if n
// does not divide the count.
func (r *Ref) Split(n int) ([]*Ref, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if n < 1 || int(r.span.Count)%n != 0 {
		return nil, r.t.errorf("split of %s in %d: its %s do not divide", r.t.spanName(r.span), n, chunks(int(r.span.Count)))
	}
	parts := make([]*Ref, n)
	count := r.span.Count / int32(n)
	for i := range parts {
		s := r.span
		s.Index += int32(i) * count * s.Stride
		if s.Count = count; count == 1 {
			s.Stride = 1
		}
		part := r.t.ref(s)
		parts[i] = &part
	}
	return parts, nil
}

// Group returns one reference to the chunks of both, in the order of their
// indices. It returns an *Error unless they lie in one buffer of one rank and are evenly
// spaced when combined.
func (r *Ref) Group(other *Ref) (*Ref, error) {
	t := r.t
	if other.t != t {
		return nil, t.errorf("group of chunks of two programs")
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := other.check(); err != nil {
		return nil, err
	}
	a, b := r.span, other.span
	if b.Index < a.Index {
		a, b = b, a
	}
	stride := b.Index - (a.Index + (a.Count-1)*a.Stride)
	if a.Rank != b.Rank || a.Buf != b.Buf || stride < 1 || a.Count > 1 && a.Stride != stride || b.Count > 1 && b.Stride != stride {
		return nil, t.errorf("group of %s with %s: want chunks of one buffer that follow one another at even distances", t.spanName(r.span), t.spanName(other.span))
	}
	both := t.ref(Span{Rank: a.Rank, Buf: a.Buf, Index: a.Index, Count: a.Count + b.Count, Stride: stride})
	return &both, nil
}
