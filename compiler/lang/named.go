package lang

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// A program may have several scratch buffers, each under a name of its own:
//
//	tmp, err := t.Named("from-above")
//	c, err = c.Copy(1, tmp, 0, -1)
//
// While it is traced they are buffers after Scratch, in the order in which
// they were first named. When it is finished, a rank's scratch is all of them
// one after the other, each as long as that rank uses it: first the one called
// sc, then the others in that order.

// Named returns the scratch buffer with the given name, and creates it on first
// use. It returns an error beyond MaxNamed buffers.
func (t *Trace) Named(name string) (collective.Buffer, error) {
	if i := slices.Index(t.named, name); i >= 0 {
		return collective.Scratch + 1 + collective.Buffer(i), nil
	}
	if len(t.named) == MaxNamed {
		return 0, t.errorf("scratch buffer %q: a program has at most %d by names of their own", name, MaxNamed)
	}
	t.named = append(t.named, name)
	return collective.Scratch + collective.Buffer(len(t.named)), nil
}

// BufferName returns the program's name for a buffer: in, out, sc, or the name
// given to Named.
func (t *Trace) BufferName(b collective.Buffer) string {
	if i := int(b) - int(collective.Scratch) - 1; i >= 0 && i < len(t.named) {
		return t.named[i]
	}
	return b.String()
}

// spanName formats a span for errors, with the program's own names.
func (t *Trace) spanName(s Span) string {
	return formatSpan(int(s.Rank), t.BufferName(s.Buf), int(s.Index), int(s.Count), int(s.Stride))
}

// layOutScratch concatenates each rank's scratch buffers, moves the operations
// there, and returns the chunks of scratch of each rank.
func (t *Trace) layOutScratch(ops []Op) []int {
	begin := make([][]int32, len(t.ranks)) // of a rank's buffers from Scratch on, and the end
	sizes := make([]int, len(t.ranks))
	for r := range t.ranks {
		for _, n := range t.ranks[r].scratch {
			begin[r] = append(begin[r], int32(sizes[r]))
			sizes[r] += n
		}
	}
	if len(t.named) == 0 {
		return sizes
	}
	for i := range ops {
		for _, s := range [...]*Span{&ops[i].Src, &ops[i].Dst} {
			if s.Buf > collective.Scratch {
				s.Index += begin[s.Rank][s.Buf-collective.Scratch]
				s.Buf = collective.Scratch
			}
		}
	}
	return sizes
}
