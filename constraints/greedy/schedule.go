package greedy

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/constraints/internal/moves"
)

// Schedule is a list of sends with times.
type Schedule struct {
	Collective string
	Ranks      int
	Bytes      int64  // size, as nccl-tests counts it
	Method     string // asynchronous, breadth first, matching, local search
	Sends      []Send // in order of their starts
	TimeUS     float64
	// BoundUS is the lower bound of package bounds on the time, by bandwidth alone, in
	// microseconds.
	BoundUS float64
}

// Send is a message. Chunk c is the part of rank c.
type Send struct {
	From, To   int32
	Reduce     bool // combined at To instead of copied
	Chunks     []int32
	Start, End float64 // microseconds: the first byte leaves, the last arrives
}

// Gap returns how much longer than the bound the schedule takes; 0.01 is one per cent.
func (s *Schedule) Gap() float64 { return s.TimeUS/s.BoundUS - 1 }

func (s *Schedule) chunkBytes() float64 {
	return float64(s.Bytes) / float64(s.Ranks)
}

// Program returns the chunk program of the schedule, with the messages in their order. Times are
// left out. inPlace makes the call's buffers overlap, as package collective defines. An error is
// lang's: the schedule does not compute its collective, which Check would find too.
func (s *Schedule) Program(inPlace bool) (*lang.Program, error) {
	spec := collective.Spec{Name: s.Collective, Ranks: s.Ranks, Chunks: 1, InPlace: inPlace}
	if s.Collective == "allreduce" {
		spec.Chunks = s.Ranks
	}
	var list []moves.Move
	for _, m := range s.Sends {
		for _, c := range slices.Sorted(slices.Values(m.Chunks)) {
			list = append(list, moves.Move{From: int(m.From), To: int(m.To), Root: int(c), Count: 1, Reduce: m.Reduce})
		}
	}
	return moves.Program("greedy", spec, list)
}

// SameRouting reports whether another schedule sends the same chunks over the same links in the
// same order, so that both have the same program.
func (s *Schedule) SameRouting(o *Schedule) bool {
	return s.Collective == o.Collective && s.Ranks == o.Ranks &&
		slices.EqualFunc(s.Sends, o.Sends, func(a, b Send) bool {
			return a.From == b.From && a.To == b.To && a.Reduce == b.Reduce && slices.Equal(a.Chunks, b.Chunks)
		})
}

// byStart sorts messages by their start.
func byStart(sends []Send) {
	slices.SortStableFunc(sends, func(a, b Send) int { return cmp.Compare(a.Start, b.Start) })
}
