package collective

// kind is a row of the table of collectives.
type kind struct {
	// in and out are the chunks of a rank's input and output buffer.
	in, out func(s Spec, rank int) int
	// want is the postcondition of output chunk index of rank.
	want func(s Spec, rank, index int) Want
	// overlap is which buffer contains the other in an in-place call, and at the
	// index where the inner one begins: rank*Chunks if nil.
	overlap overlap
	at      func(s Spec, rank int) int
	// loop returns the number of chunks that the call's size is divided into; if
	// nil, it is that of the root's larger buffer.
	loop    func(s Spec) int
	rooted  bool
	reduces bool
	partial bool // some output chunks may hold anything
	uniform bool // all ranks want the same
	// busbw is nccl-tests' factor from algorithm to bus bandwidth, or 1 if it has
	// none.
	busbw func(n float64) float64
}

// overlap is how the two buffers overlap in an in-place call.
type overlap uint8

const (
	noOverlap       overlap = iota // has no in-place form here
	same                           // one buffer; the program's `in` and `out` are the same chunks
	inInsideOut                    // input is chunk at(rank) onwards of the output
	outInsideIn                    // output is chunk at(rank) onwards of the input
	rootInInsideOut                // so at the root; the others have no output
	rootOutInsideIn                // so at the root; the others have no input
)

func (o overlap) of(rank, root int) overlap {
	switch {
	case o == rootInInsideOut && rank == root:
		return inInsideOut
	case o == rootOutInsideIn && rank == root:
		return outInsideIn
	case o == rootInInsideOut || o == rootOutInsideIn:
		return noOverlap
	}
	return o
}

func each(s Spec, _ int) int  { return s.Chunks }
func every(s Spec, _ int) int { return s.Chunks * s.Ranks }
func rootOnly(n func(Spec, int) int) func(Spec, int) int {
	return func(s Spec, rank int) int {
		if rank == s.Root {
			return n(s, rank)
		}
		return 0
	}
}

func unit(float64) float64       { return 1 }
func shared(n float64) float64   { return (n - 1) / n }
func twice(n float64) float64    { return 2 * (n - 1) / n }
func input(rank, index int) Want { return Want{Kind: WantInput, Rank: rank, Index: index} }
func reduction(index int) Want   { return Want{Kind: WantReduction, Index: index} }

// kinds is the table of collectives. Chunks counts: of the buffer for
// allreduce, broadcast, reduce, alltonext, sendrecv; of a rank's input for
// allgather and gather; of a rank's output for reducescatter and scatter; of
// what one rank sends another for alltoall.
var kinds = map[string]kind{
	"allreduce": {in: each, out: each, overlap: same, reduces: true, uniform: true, busbw: twice,
		want: func(_ Spec, _, i int) Want { return reduction(i) }},
	"allgather": {in: each, out: every, overlap: inInsideOut, uniform: true, busbw: shared,
		want: func(s Spec, _, i int) Want { return input(i/s.Chunks, i%s.Chunks) }},
	"reducescatter": {in: every, out: each, overlap: outInsideIn, reduces: true, busbw: shared,
		want: func(s Spec, r, i int) Want { return reduction(r*s.Chunks + i) }},
	"alltoall": {in: every, out: every, busbw: shared,
		want: func(s Spec, r, i int) Want { return input(i/s.Chunks, r*s.Chunks+i%s.Chunks) }},
	"alltonext": {in: each, out: each, partial: true, busbw: unit,
		want: func(_ Spec, r, i int) Want {
			if r == 0 {
				return Want{}
			}
			return input(r-1, i)
		}},
	"sendrecv": {in: each, out: each, busbw: unit,
		want: func(s Spec, r, i int) Want { return input((r+s.Ranks-1)%s.Ranks, i) }},
	"broadcast": {in: rootOnly(each), out: each, overlap: same, rooted: true, uniform: true, busbw: unit,
		want: func(s Spec, _, i int) Want { return input(s.Root, i) }},
	"reduce": {in: each, out: rootOnly(each), overlap: same, rooted: true, reduces: true, busbw: unit,
		want: func(_ Spec, _, i int) Want { return reduction(i) }},
	"gather": {in: each, out: rootOnly(every), overlap: rootInInsideOut, rooted: true, busbw: shared,
		want: func(s Spec, _, i int) Want { return input(i/s.Chunks, i%s.Chunks) }},
	"scatter": {in: rootOnly(every), out: each, overlap: rootOutInsideIn, rooted: true, busbw: shared,
		want: func(s Spec, r, i int) Want { return input(s.Root, r*s.Chunks+i) }},
}

// A vector form without counts is the plain one: every count is 1.
func init() {
	for v, form := range vectors {
		plain := kinds[form.plain]
		plain.busbw = unit // nccl-tests has none of them
		kinds[v] = plain
	}
	// The size of alltoall is what one rank sends, that of alltoallv the total.
	all := kinds["alltoallv"]
	all.loop = func(s Spec) int { return s.Ranks * s.Ranks * s.Chunks }
	kinds["alltoallv"] = all
}
