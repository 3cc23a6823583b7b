package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Buffer is one of the three buffers of a rank: input, output, scratch.
type Buffer uint8

// The buffers of a rank, in the order of MSCCL's letters i, o, s.
const (
	In Buffer = iota
	Out
	Scratch
)

var bufferNames = [...]string{"in", "out", "sc"}

// String returns the name the chunk language uses: in, out, sc.
func (b Buffer) String() string { return bufferNames[b] }

// Spec describes a collective completely. It is stored in files and covered by
// hashes.
type Spec struct {
	Name    string `json:"name"`
	Ranks   int    `json:"ranks"`
	Chunks  int    `json:"chunks"`         // chunks per unit, see New
	Root    int    `json:"root,omitempty"` // broadcast, reduce, gather, scatter
	InPlace bool   `json:"in_place"`
	// Counts are the units of every rank, for the vector forms: a rank's
	// contribution (allgatherv, gatherv), its share of the result (scatterv), or,
	// row by row, what it sends to each rank (alltoallv). Empty means 1 each.
	Counts []int `json:"counts,omitempty"`
	// Custom is the table of a custom collective, whose name is none of Names.
	Custom *Table `json:"custom,omitempty"`
}

// Want is the required value of one output chunk.
type Want struct {
	Kind  WantKind
	Rank  int     // WantInput: whose input
	Index int     // WantInput, WantReduction: which input chunk
	Of    []Place // WantSum: the input chunks, with repetitions
}

// Place is an input chunk of a rank.
type Place struct{ Rank, Index int }

// WantKind is the form of a Want.
type WantKind uint8

const (
	// WantNothing leaves the chunk to the program.
	WantNothing WantKind = iota
	// WantInput is exactly input chunk (Rank, Index).
	WantInput
	// WantReduction is input chunk Index of every rank, each exactly once.
	WantReduction
	// WantSum is the reduction of the chunks listed in Of. Only custom
	// collectives have it.
	WantSum
)

// Collective is a Spec with its pre- and postcondition.
type Collective struct {
	Spec
	kind kind
}

// Names lists every collective, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// New checks a Spec and derives its pre- and postcondition. The error names the
// field at fault. Spec.Chunks is the number of chunks in a unit; the collective
// determines what a unit is (docs/language.md).
func New(s Spec) (Collective, error) {
	k, ok := kinds[s.Name]
	if s.Custom != nil && !ok {
		return newCustom(s)
	}
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
	case s.Custom != nil:
		return Collective{}, fmt.Errorf("%s has a table: a custom collective can't have the name of another", s.Name)
	}
	if s.Counts != nil {
		form, ok := vectors[s.Name]
		if !ok {
			return Collective{}, fmt.Errorf("%s has no counts: those that do are %s", s.Name, strings.Join(VectorForms(), ", "))
		}
		if err := form.check(s); err != nil {
			return Collective{}, fmt.Errorf("%s: %w", s.Name, err)
		}
		k = form.kind(s)
	}
	return Collective{Spec: s, kind: k}, nil
}

// OfName is New for callers that know only the name, as a table of results
// does. A name that is none of Names stands for a custom collective without a
// table, of which only the properties common to all are valid. Errors are New's.
func OfName(s Spec) (Collective, error) {
	if _, ok := kinds[s.Name]; !ok && s.Custom == nil && s.Ranks > 0 && s.Ranks <= maxRanks {
		t := &Table{In: make([]int, s.Ranks), Out: make([]int, s.Ranks), Want: make([][]Want, s.Ranks), Same: true}
		t.In[0] = 1
		s.Custom = t
	}
	return New(s)
}

// DefaultInPlace returns the default placement: true (in place) for allreduce,
// reduce and broadcast, false for the others.
func DefaultInPlace(name string) bool { return kinds[name].overlap == same }

// InChunks returns the number of chunks of rank's input buffer, regardless of
// placement. The precondition initialises all of them.
func (c Collective) InChunks(rank int) int { return c.kind.in(c.Spec, rank) }

// OutChunks returns the number of chunks of rank's output buffer, regardless of
// placement.
func (c Collective) OutChunks(rank int) int { return c.kind.out(c.Spec, rank) }

// Place returns the canonical name of a chunk. In an in-place call, overlapping
// chunks of the two buffers have one name: the `in` chunk if the buffers are
// the same or the output lies inside the input, the `out` chunk if the input
// lies inside the output. Out of place, it returns its arguments.
func (c Collective) Place(rank int, b Buffer, index int) (Buffer, int) {
	if !c.InPlace {
		return b, index
	}
	switch o := c.kind.overlap.of(rank, c.Root); {
	case o == same && b == Out:
		return In, index
	case o == inInsideOut && b == In:
		return Out, c.inner(rank) + index
	case o == outInsideIn && b == Out:
		return In, c.inner(rank) + index
	}
	return b, index
}

// inner returns the index in the outer buffer of a rank where the inner one
// begins.
func (c Collective) inner(rank int) int {
	if c.kind.at != nil {
		return c.kind.at(c.Spec, rank)
	}
	return rank * c.Chunks
}

// BufferChunks returns the number of chunks of buffer b at rank under Place: an
// aliased buffer has none. It is 0 for Scratch, whose size the program chooses.
func (c Collective) BufferChunks(rank int, b Buffer) int {
	o := noOverlap
	if c.InPlace {
		o = c.kind.overlap.of(rank, c.Root)
	}
	switch {
	case b == Scratch:
		return 0
	case o == same && b == Out:
		return 0
	case o == same && c.Custom != nil:
		return max(c.InChunks(rank), c.OutChunks(rank))
	case o == same:
		return max(c.InChunks(rank), c.OutChunks(rank), c.Chunks)
	case o == inInsideOut && b == In, o == outInsideIn && b == Out:
		return 0
	case b == In:
		return c.InChunks(rank)
	}
	return c.OutChunks(rank)
}

// Want returns the required value of output chunk index of rank, for index
// below OutChunks(rank).
func (c Collective) Want(rank, index int) Want { return c.kind.want(c.Spec, rank, index) }

// Partial reports whether Want may be WantNothing.
func (c Collective) Partial() bool { return c.kind.partial }

// Uniform reports whether Want is the same for all ranks.
func (c Collective) Uniform() bool { return c.kind.uniform }

// LoopChunks returns the number of chunks that the call's size is divided into
// (MSCCL's nchunksperloop): the chunks of the larger user buffer of any rank,
// or of all counts together in the vector forms.
func (c Collective) LoopChunks() int {
	if c.kind.loop != nil {
		return c.kind.loop(c.Spec)
	}
	n := max(c.kind.in(c.Spec, c.Root), c.kind.out(c.Spec, c.Root))
	return max(n, c.Chunks)
}

// Reduces reports whether the collective combines chunks.
func (c Collective) Reduces() bool { return c.kind.reduces }

// Reduces reports whether a collective of Names combines chunks.
func Reduces(name string) bool { return kinds[name].reduces }

// Rooted reports whether the collective has a root.
func (c Collective) Rooted() bool { return c.kind.rooted }

// BusFactor returns nccl-tests' ratio of bus bandwidth to algorithm bandwidth,
// or 1 for collectives that nccl-tests does not measure.
func (c Collective) BusFactor() float64 { return c.kind.busbw(float64(c.Ranks)) }

// Times returns the collective with every chunk divided into n, as n instances
// compute it.
func (c Collective) Times(n int) Collective {
	c.Chunks *= n
	return c
}
