package collective

import (
	"fmt"
	"sort"
	"strings"
)

// Buffer is one of the three buffers of a rank.
type Buffer uint8

// The buffers of a rank, in the order MSCCL's files letter them: i, o, s.
const (
	In Buffer = iota
	Out
	Scratch
)

var bufferNames = [...]string{"in", "out", "sc"}

// String is the name the chunk language uses: in, out, sc.
func (b Buffer) String() string { return bufferNames[b] }

// Spec names a collective completely; it is what files and hashes hold.
type Spec struct {
	Name    string `json:"name"`
	Ranks   int    `json:"ranks"`
	Chunks  int    `json:"chunks"`         // chunks per unit, see New
	Root    int    `json:"root,omitempty"` // broadcast, reduce, gather, scatter
	InPlace bool   `json:"in_place"`
}

// Want is what the postcondition asks of one output chunk.
type Want struct {
	Kind  WantKind
	Rank  int // WantInput: whose input
	Index int // WantInput, WantReduction: which input chunk
}

// WantKind tells the forms of Want apart.
type WantKind uint8

const (
	// WantNothing leaves the chunk to the program.
	WantNothing WantKind = iota
	// WantInput is exactly input chunk (Rank, Index).
	WantInput
	// WantReduction is input chunk Index of every rank, each exactly once.
	WantReduction
)

// Collective is a Spec with its pre- and postcondition.
type Collective struct {
	Spec
	kind kind
}

// kind is a row of the table of collectives.
type kind struct {
	// in and out are the chunks of a rank's input and output buffer.
	in, out func(s Spec, rank int) int
	// want is the postcondition of output chunk index of rank.
	want func(s Spec, rank, index int) Want
	// overlap is where output chunk 0 lies in the input (inAt), or input chunk
	// 0 in the output (outAt), when the call is in place.
	overlap overlap
	rooted  bool
	reduces bool
	// busbw is nccl-tests' factor from algorithm to bus bandwidth.
	busbw func(n float64) float64
}

// overlap says how an in-place call lays the two buffers over each other.
type overlap uint8

const (
	noOverlap   overlap = iota // has no in-place form here
	same                       // one buffer; the program's `in` and `out` are the same chunks
	inInsideOut                // input is chunk rank*Chunks onwards of the output
	outInsideIn                // output is chunk rank*Chunks onwards of the input
)

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
	"allreduce": {in: each, out: each, overlap: same, reduces: true, busbw: twice,
		want: func(_ Spec, _, i int) Want { return reduction(i) }},
	"allgather": {in: each, out: every, overlap: inInsideOut, busbw: shared,
		want: func(s Spec, _, i int) Want { return input(i/s.Chunks, i%s.Chunks) }},
	"reducescatter": {in: every, out: each, overlap: outInsideIn, reduces: true, busbw: shared,
		want: func(s Spec, r, i int) Want { return reduction(r*s.Chunks + i) }},
	"alltoall": {in: every, out: every, busbw: shared,
		want: func(s Spec, r, i int) Want { return input(i/s.Chunks, r*s.Chunks+i%s.Chunks) }},
	"alltonext": {in: each, out: each, busbw: unit,
		want: func(_ Spec, r, i int) Want {
			if r == 0 {
				return Want{}
			}
			return input(r-1, i)
		}},
	"sendrecv": {in: each, out: each, busbw: unit,
		want: func(s Spec, r, i int) Want { return input((r+s.Ranks-1)%s.Ranks, i) }},
	"broadcast": {in: rootOnly(each), out: each, overlap: same, rooted: true, busbw: unit,
		want: func(s Spec, _, i int) Want { return input(s.Root, i) }},
	"reduce": {in: each, out: rootOnly(each), overlap: same, rooted: true, reduces: true, busbw: unit,
		want: func(_ Spec, _, i int) Want { return reduction(i) }},
	"gather": {in: each, out: rootOnly(every), rooted: true, busbw: shared,
		want: func(s Spec, _, i int) Want { return input(i/s.Chunks, i%s.Chunks) }},
	"scatter": {in: rootOnly(every), out: each, rooted: true, busbw: shared,
		want: func(s Spec, r, i int) Want { return input(s.Root, r*s.Chunks+i) }},
}

// Names lists every collective, sorted.
func Names() []string {
	names := make([]string, 0, len(kinds))
	for n := range kinds {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// New checks a Spec and gives it its pre- and postcondition.
func New(s Spec) (Collective, error) {
	k, ok := kinds[s.Name]
	switch {
	case !ok:
		return Collective{}, fmt.Errorf("unknown collective %q: want one of %s", s.Name, strings.Join(Names(), ", "))
	case s.Ranks < 1:
		return Collective{}, fmt.Errorf("%s over %d ranks: want at least 1", s.Name, s.Ranks)
	case s.Chunks < 1:
		return Collective{}, fmt.Errorf("%s of %d chunks: want at least 1", s.Name, s.Chunks)
	case s.Root < 0 || s.Root >= s.Ranks:
		return Collective{}, fmt.Errorf("%s with root %d: want 0 to %d", s.Name, s.Root, s.Ranks-1)
	case s.Root != 0 && !k.rooted:
		return Collective{}, fmt.Errorf("%s has no root", s.Name)
	case s.InPlace && k.overlap == noOverlap:
		return Collective{}, fmt.Errorf("%s has no in-place form", s.Name)
	}
	return Collective{Spec: s, kind: k}, nil
}

// DefaultInPlace is the placement searched for when none is asked for: in
// place for allreduce, reduce and broadcast, out of place for the others.
func DefaultInPlace(name string) bool { return kinds[name].overlap == same }

// InChunks is how many chunks rank's input buffer holds, seen as a buffer of
// its own: what the precondition initialises.
func (c Collective) InChunks(rank int) int { return c.kind.in(c.Spec, rank) }

// OutChunks is how many chunks rank's output buffer holds.
func (c Collective) OutChunks(rank int) int { return c.kind.out(c.Spec, rank) }

// Place is where (buffer, index) of rank really lies. For an in-place call the
// overlapping chunks of the two buffers have one name: the `in` chunk where the
// buffers are the same or the output lies inside the input, the `out` chunk
// where the input lies inside the output. Out of place, it changes nothing.
func (c Collective) Place(rank int, b Buffer, index int) (Buffer, int) {
	if !c.InPlace {
		return b, index
	}
	switch {
	case c.kind.overlap == same && b == Out:
		return In, index
	case c.kind.overlap == inInsideOut && b == In:
		return Out, rank*c.Chunks + index
	case c.kind.overlap == outInsideIn && b == Out:
		return In, rank*c.Chunks + index
	}
	return b, index
}

// BufferChunks is how many chunks of buffer b exist at rank under Place: an
// aliased buffer has none of its own. Scratch is the program's to size.
func (c Collective) BufferChunks(rank int, b Buffer) int {
	switch {
	case b == Scratch:
		return 0
	case c.InPlace && c.kind.overlap == same:
		if b == Out {
			return 0
		}
		return max(c.InChunks(rank), c.OutChunks(rank), c.Chunks)
	case c.InPlace && c.kind.overlap == inInsideOut && b == In,
		c.InPlace && c.kind.overlap == outInsideIn && b == Out:
		return 0
	case b == In:
		return c.InChunks(rank)
	}
	return c.OutChunks(rank)
}

// Want is the postcondition of output chunk index of rank; ask for index below
// OutChunks(rank).
func (c Collective) Want(rank, index int) Want { return c.kind.want(c.Spec, rank, index) }

// LoopChunks is how many chunks the call's size is divided into (MSCCL's
// nchunksperloop): the chunks of the larger user buffer of any rank.
func (c Collective) LoopChunks() int {
	n := max(c.kind.in(c.Spec, c.Root), c.kind.out(c.Spec, c.Root))
	return max(n, c.Chunks)
}

// Reduces tells whether the collective combines chunks.
func (c Collective) Reduces() bool { return c.kind.reduces }

// Rooted tells whether the collective has a root.
func (c Collective) Rooted() bool { return c.kind.rooted }

// BusFactor is nccl-tests' ratio of bus to algorithm bandwidth.
func (c Collective) BusFactor() float64 { return c.kind.busbw(float64(c.Ranks)) }

// Times is the same collective cut n times finer: what n instances compute.
func (c Collective) Times(n int) Collective {
	c.Chunks *= n
	return c
}
