package collective

// Call is a collective as an application calls it, whatever the ranks, the size and
// the placement: all of nccl-tests' arguments but those. The zero value is no call.
type Call struct {
	Collective string // one of Names, or the name of a custom collective
	Root       int    // rank; 0 where the collective has no root
	Counts     []int  // units of every rank, of a vector form; see Spec
	Custom     *Table // of a custom collective
	Op         string // reduction: sum, prod, min, max, avg; ignored where nothing is reduced
	DType      string // element type, one of DTypes
}

// Spec describes the call over a number of ranks, with a number of chunks in a unit.
// Nothing is checked.
func (c Call) Spec(ranks, chunks int, inPlace bool) Spec {
	return Spec{Name: c.Collective, Ranks: ranks, Chunks: chunks, Root: c.Root, InPlace: inPlace, Counts: c.Counts, Custom: c.Custom}
}

// Over checks the call over a number of ranks, and derives its pre- and postcondition
// with one chunk in a unit. The errors are those of New and ElemBytes; Op is not
// checked, since executors may have operations of their own.
func (c Call) Over(ranks int, inPlace bool) (Collective, error) {
	col, err := New(c.Spec(ranks, 1, inPlace))
	if err != nil {
		return Collective{}, err
	}
	if _, err := ElemBytes(c.DType); err != nil {
		return Collective{}, err
	}
	return col, nil
}

// ElemBytes returns the size in bytes of an element, or 0 for a type that Over refuses.
func (c Call) ElemBytes() int64 {
	n, _ := ElemBytes(c.DType)
	return n
}
