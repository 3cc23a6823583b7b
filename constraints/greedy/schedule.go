package greedy

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/constraints/internal/moves"
)

// Alpha says whether a link's latency occupies it.
type Alpha uint8

// Ways to count latency.
const (
	Blocking  Alpha = iota // a link is occupied for latency and bytes
	Pipelined              // a link is occupied for the bytes alone; latency delays the arrival
)

// String returns the model's name in lower case.
func (a Alpha) String() string { return [...]string{"blocking", "pipelined"}[a] }

// Schedule is a list of sends with times.
type Schedule struct {
	Topology   string
	Collective string
	Ranks      int
	Bytes      int64 // size, as nccl-tests counts it
	Chunks     int   // chunks in each rank's part of the size
	Alpha      Alpha
	Method     string // asynchronous, breadth first, matching, local search
	Sends      []Send // in order of their starts
	TimeUS     float64
	// BoundUS is the lower bound of package bounds on the time, by bandwidth alone, in
	// microseconds.
	BoundUS float64
}

// Send is a message. Chunk c is number c%Chunks of the chunks of rank c/Chunks.
type Send struct {
	From, To   int32
	Reduce     bool // combined at To instead of copied
	Chunks     []int32
	Start, End float64 // microseconds: the first byte leaves, the last arrives
}

// Gap returns how much longer than the bound the schedule takes; 0.01 is one per cent.
func (s *Schedule) Gap() float64 { return s.TimeUS/s.BoundUS - 1 }

// chunkBytes returns the size of a chunk in bytes.
func (s *Schedule) chunkBytes() float64 {
	return float64(s.Bytes) / float64(s.Ranks) / float64(s.Chunks)
}

// Program returns the chunk program of the schedule, with the messages in their order and
// adjacent chunks of one rank merged. Times are left out. inPlace makes the call's buffers overlap,
// as package collective defines. An error is lang's: the schedule does not compute its
// collective, which Check would find too.
func (s *Schedule) Program(inPlace bool) (*lang.Program, error) {
	spec := collective.Spec{Name: s.Collective, Ranks: s.Ranks, Chunks: s.Chunks, InPlace: inPlace}
	if s.Collective == "allreduce" {
		spec.Chunks *= s.Ranks
	}
	var list []moves.Move
	for _, m := range s.Sends {
		chunks := slices.Clone(m.Chunks)
		slices.Sort(chunks)
		for i := 0; i < len(chunks); {
			root := int(chunks[i]) / s.Chunks
			first := int(chunks[i]) % s.Chunks
			run := 1
			for i+run < len(chunks) && int(chunks[i+run]) == int(chunks[i])+run && first+run < s.Chunks {
				run++
			}
			list = append(list, moves.Move{From: int(m.From), To: int(m.To), Root: root, First: first, Count: run, Reduce: m.Reduce})
			i += run
		}
	}
	return moves.Program("greedy", spec, list)
}

// SameRouting reports whether another schedule sends the same chunks over the same links in the
// same order, so that both have the same program.
func (s *Schedule) SameRouting(o *Schedule) bool {
	return s.Collective == o.Collective && s.Ranks == o.Ranks && s.Chunks == o.Chunks &&
		slices.EqualFunc(s.Sends, o.Sends, func(a, b Send) bool {
			return a.From == b.From && a.To == b.To && a.Reduce == b.Reduce && slices.Equal(a.Chunks, b.Chunks)
		})
}

// byStart sorts messages by their start.
func byStart(sends []Send) {
	slices.SortStableFunc(sends, func(a, b Send) int { return cmp.Compare(a.Start, b.Start) })
}
