package lang

// Refs is a number of references of one trace. It has no pointer for each, and takes less
// memory than as many Refs.
type Refs struct {
	t   *Trace
	all []refPlace
}

type refPlace struct {
	span Span
	seen int32
}

// Refs returns n references that are to be set.
func (t *Trace) Refs(n int) Refs { return Refs{t, make([]refPlace, n)} }

// Len returns the number of references.
func (r *Refs) Len() int { return len(r.all) }

// At returns the i-th reference.
func (r *Refs) At(i int) Ref { return Ref{r.t, r.all[i].span, r.all[i].seen} }

// Set sets the i-th reference, to one of the same trace.
func (r *Refs) Set(i int, to *Ref) { r.all[i] = refPlace{to.span, to.seen} }
