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
	// Counts are the units of every rank, for the vector forms: what a rank
	// contributes (allgatherv, gatherv) or gets (scatterv), or, row by row, what
	// it sends to each (alltoallv). None: 1 each.
	Counts []int `json:"counts,omitempty"`
	// Custom is the table of a collective that is none of Names.
	Custom *Table `json:"custom,omitempty"`
}

// Want is what the postcondition asks of one output chunk.
type Want struct {
	Kind  WantKind
	Rank  int     // WantInput: whose input
	Index int     // WantInput, WantReduction: which input chunk
	Of    []Place // WantSum: which input chunks, each as often as it is there
}

// Place is an input chunk of a rank.
type Place struct{ Rank, Index int }

// WantKind tells the forms of Want apart.
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

// OfName is New for who knows the name and no more, as a table of results does:
// a name that is none of Names stands for a custom collective, of which only
// what all have in common is then true.
func OfName(s Spec) (Collective, error) {
	if _, ok := kinds[s.Name]; !ok && s.Custom == nil && s.Ranks > 0 && s.Ranks <= maxRanks {
		t := &Table{In: make([]int, s.Ranks), Out: make([]int, s.Ranks), Want: make([][]Want, s.Ranks), Same: true}
		t.In[0] = 1
		s.Custom = t
	}
	return New(s)
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

// inner is where in the outer buffer of a rank the inner one begins.
func (c Collective) inner(rank int) int {
	if c.kind.at != nil {
		return c.kind.at(c.Spec, rank)
	}
	return rank * c.Chunks
}

// BufferChunks is how many chunks of buffer b exist at rank under Place: an
// aliased buffer has none of its own. Scratch is the program's to size.
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

// Want is the postcondition of output chunk index of rank; ask for index below
// OutChunks(rank).
func (c Collective) Want(rank, index int) Want { return c.kind.want(c.Spec, rank, index) }

// LoopChunks is how many chunks the call's size is divided into (MSCCL's
// nchunksperloop): the chunks of the larger user buffer of any rank, and of all
// counts together in the vector forms.
func (c Collective) LoopChunks() int {
	if c.kind.loop != nil {
		return c.kind.loop(c.Spec)
	}
	n := max(c.kind.in(c.Spec, c.Root), c.kind.out(c.Spec, c.Root))
	return max(n, c.Chunks)
}

// Reduces reports whether the collective combines chunks.
func (c Collective) Reduces() bool { return c.kind.reduces }

// Rooted reports whether the collective has a root.
func (c Collective) Rooted() bool { return c.kind.rooted }

// BusFactor is nccl-tests' ratio of bus to algorithm bandwidth; 1 for what
// nccl-tests does not measure.
func (c Collective) BusFactor() float64 { return c.kind.busbw(float64(c.Ranks)) }

// Times is the same collective cut n times finer: what n instances compute.
func (c Collective) Times(n int) Collective {
	c.Chunks *= n
	return c
}
