package greedy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/constraints/internal/moves"
	"github.com/colltune/colltune/topologies"
)

// Alpha says whether a link's latency keeps it busy.
type Alpha uint8

// The ways to count latency.
const (
	Blocking  Alpha = iota // a link is taken for latency and bytes
	Pipelined              // for its bytes alone; the latency delays the arrival
)

func (a Alpha) String() string { return [...]string{"blocking", "pipelined"}[a] }

// Schedule is who sends what when.
type Schedule struct {
	Topology   string
	Collective string
	Ranks      int
	Bytes      int64 // size, as nccl-tests counts it
	Chunks     int   // that each rank's part of the size is cut into
	Alpha      Alpha
	Method     string // asynchronous, breadth first, matching, local search
	Sends      []Send // by rising start
	TimeUS     float64
	// BoundUS is what no routing takes less than, for its bytes alone.
	BoundUS float64
}

// Send is a message. Chunk c is number c%Chunks of rank c/Chunks's.
type Send struct {
	From, To   int32
	Reduce     bool // combined at To, not copied
	Chunks     []int32
	Start, End float64 // microseconds: the first byte leaves, all have arrived
}

// Gap is how much longer than the bound the schedule takes: 0.01 is one
// hundredth.
func (s *Schedule) Gap() float64 { return s.TimeUS/s.BoundUS - 1 }

// Part is how many bytes a chunk has.
func (s *Schedule) part() float64 { return float64(s.Bytes) / float64(s.Ranks) / float64(s.Chunks) }

// tolerance is what rounding may shift a start by, relative to the whole time.
const tolerance = 1e-9

// Check replays a schedule on its topology: that every message has a path and
// the time it takes, sends what is there, finds its links free, and that in the
// end every rank has what the collective promises, every contribution once.
func (s *Schedule) Check(t *topologies.Topology) error {
	if len(t.Ranks) != s.Ranks || s.Chunks < 1 || s.Bytes < 1 {
		return fmt.Errorf("schedule of %d B in %d chunks for %d ranks: %s has %d", s.Bytes, s.Chunks, s.Ranks, t.Name, len(t.Ranks))
	}
	n, total := s.Ranks, s.Ranks*s.Chunks
	reduces := s.Collective != "allgather"
	slack := tolerance * s.TimeUS
	free := make([]float64, len(t.Edges))
	ready := make([]float64, n*total) // when a rank's version of a chunk is complete so far
	const absent, partial, whole = 0, 1, 2
	state := make([]uint8, n*total)
	parts := make([]int32, n*total) // how many ranks' contributions a version has
	for r := range n {
		for c := range total {
			at := r*total + c
			switch {
			case reduces:
				state[at], parts[at] = partial, 1
			case c/s.Chunks == r:
				state[at] = whole
			}
		}
	}
	last := math.Inf(-1)
	finish := 0.0
	for i, m := range s.Sends {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("send %d, from %d to %d at %g us: %s", i, m.From, m.To, m.Start, fmt.Sprintf(format, args...))
		}
		if m.From < 0 || int(m.From) >= n || m.To < 0 || int(m.To) >= n || len(m.Chunks) == 0 {
			return fail("%d chunks: want some, between ranks below %d", len(m.Chunks), n)
		}
		path, ok := t.Path(int(m.From), int(m.To))
		switch {
		case !ok:
			return fail("no link")
		case m.Start < last || m.Start < 0:
			return fail("before the one before it")
		}
		last = m.Start
		bytes := s.part() * float64(len(m.Chunks))
		arrive := 0.0
		for _, e := range path.Edges {
			edge := t.Edges[e]
			if free[e] > m.Start+slack {
				return fail("link from %d to %d is taken until %g us", edge.From, edge.To, free[e])
			}
			serial := float64(edge.Message) + bytes/edge.Bandwidth.PerMicro()
			arrive = max(arrive, serial)
			if s.Alpha == Blocking {
				serial += float64(edge.Latency)
			}
			free[e] = m.Start + serial
		}
		arrive += m.Start + float64(path.Latency)
		if math.Abs(arrive-m.End) > slack {
			return fail("ends at %g us: want %g", m.End, arrive)
		}
		finish = max(finish, m.End)
		for _, c := range m.Chunks {
			if c < 0 || int(c) >= total {
				return fail("chunk %d: want 0 to %d", c, total-1)
			}
			from, to := int(m.From)*total+int(c), int(m.To)*total+int(c)
			switch {
			case ready[from] > m.Start+slack:
				return fail("chunk %d arrives at %g us", c, ready[from])
			case m.Reduce && (state[from] != partial || state[to] != partial):
				return fail("chunk %d has left one of the two", c)
			case !m.Reduce && (state[from] != whole || state[to] != absent):
				return fail("chunk %d is not there whole, or is there already", c)
			}
			if m.Reduce {
				state[from] = absent
				if parts[to] += parts[from]; int(parts[to]) == n {
					state[to] = whole
				}
			} else {
				state[to] = whole
			}
			ready[to] = max(ready[to], m.End)
		}
	}
	for r := range n {
		for c := range total {
			if need := s.Collective != "reducescatter" || c/s.Chunks == r; need && state[r*total+c] != whole {
				return fmt.Errorf("rank %d has not got chunk %d", r, c)
			}
		}
	}
	if math.Abs(finish-s.TimeUS) > slack {
		return fmt.Errorf("schedule ends at %g us: it says %g", finish, s.TimeUS)
	}
	return nil
}

// Program is the schedule as a chunk program: its messages in their order, runs
// of chunks of one rank together. Its time is forgotten.
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

// SameRouting tells whether another schedule sends the same chunks over the
// same links in the same order: then both are the same program.
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
