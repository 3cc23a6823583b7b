package greedy

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/topologies"
)

// tolerance is the rounding error allowed in times, relative to the whole time.
const tolerance = 1e-9

// Check replays a schedule on its topology. It checks that every message has a path,
// takes its time, sends chunks that have arrived and finds its links free, and that in
// the end every rank has what the collective requires, with each contribution once. The
// error names the send.
func (s *Schedule) Check(t *topologies.Topology) error {
	if len(t.Ranks) != s.Ranks || s.Bytes < 1 {
		return fmt.Errorf("schedule of %d B for %d ranks: %s has %d", s.Bytes, s.Ranks, t.Name, len(t.Ranks))
	}
	p := newReplay(s, t)
	for i, m := range s.Sends {
		if err := p.send(m); err != nil {
			return fmt.Errorf("send %d, from %d to %d at %g us: %w", i, m.From, m.To, m.Start, err)
		}
	}
	return p.finished()
}

// replay is the state of a schedule that is replayed message by message.
type replay struct {
	schedule *Schedule
	topology *topologies.Topology
	slack    float64   // tolerance in microseconds
	free     []float64 // by edge: when it is free again
	held     []version // by rank and chunk
	last     float64   // when the latest message started
	finish   float64   // when all that were sent so far have arrived
}

// version is a rank's value of a chunk.
type version struct {
	state state
	parts int32   // of a reduction: the number of contributions in it
	ready float64 // when its last part arrived
}

type state uint8

const (
	absent  state = iota
	partial       // some contributions are missing
	whole
)

func newReplay(s *Schedule, t *topologies.Topology) *replay {
	p := &replay{
		schedule: s, topology: t, slack: tolerance * s.TimeUS, last: math.Inf(-1),
		free: make([]float64, len(t.Edges)),
		held: make([]version, s.Ranks*s.Ranks),
	}
	for r := range s.Ranks {
		for c := range s.Ranks {
			switch {
			case s.Collective != "allgather":
				*p.at(r, c) = version{state: partial, parts: 1}
			case c == r:
				p.at(r, c).state = whole
			}
		}
	}
	return p
}

func (p *replay) at(rank, chunk int) *version { return &p.held[rank*p.schedule.Ranks+chunk] }

func (p *replay) send(m Send) error {
	n := p.schedule.Ranks
	if m.From < 0 || int(m.From) >= n || m.To < 0 || int(m.To) >= n || len(m.Chunks) == 0 {
		return fmt.Errorf("%d chunks: want some, between ranks below %d", len(m.Chunks), n)
	}
	path, ok := p.topology.Path(int(m.From), int(m.To))
	switch {
	case !ok:
		return fmt.Errorf("no link")
	case m.Start < p.last || m.Start < 0:
		return fmt.Errorf("before the one before it")
	}
	p.last = m.Start
	arrives, err := p.occupy(path, m)
	if err != nil {
		return err
	}
	if math.Abs(arrives-m.End) > p.slack {
		return fmt.Errorf("ends at %g us: want %g", m.End, arrives)
	}
	p.finish = max(p.finish, m.End)
	for _, c := range m.Chunks {
		if err := p.move(m, int(c)); err != nil {
			return err
		}
	}
	return nil
}

// occupy occupies the edges of a message's path, and returns when the message arrives.
func (p *replay) occupy(path topologies.Path, m Send) (float64, error) {
	bytes := p.schedule.chunkBytes() * float64(len(m.Chunks))
	slowest := 0.0
	for _, e := range path.Edges {
		edge := p.topology.Edges[e]
		if p.free[e] > m.Start+p.slack {
			return 0, fmt.Errorf("link from %d to %d is taken until %g us", edge.From, edge.To, p.free[e])
		}
		busy := float64(edge.Message) + bytes/edge.Bandwidth.PerMicro()
		slowest = max(slowest, busy)
		p.free[e] = m.Start + busy + float64(edge.Latency)
	}
	return slowest + m.Start + float64(path.Latency), nil
}

// move gives the receiver the sender's value of a chunk: a copy of a complete chunk, or
// the sender's contributions, which the sender then no longer has.
func (p *replay) move(m Send, chunk int) error {
	if chunk < 0 || chunk >= p.schedule.Ranks {
		return fmt.Errorf("chunk %d: want 0 to %d", chunk, p.schedule.Ranks-1)
	}
	from, to := p.at(int(m.From), chunk), p.at(int(m.To), chunk)
	switch {
	case from.ready > m.Start+p.slack:
		return fmt.Errorf("chunk %d arrives at %g us", chunk, from.ready)
	case m.Reduce && (from.state != partial || to.state != partial):
		return fmt.Errorf("chunk %d has left one of the two", chunk)
	case !m.Reduce && (from.state != whole || to.state != absent):
		return fmt.Errorf("chunk %d is not there whole, or is there already", chunk)
	}
	if m.Reduce {
		from.state = absent
		to.parts += from.parts
	}
	if !m.Reduce || int(to.parts) == p.schedule.Ranks {
		to.state = whole
	}
	to.ready = max(to.ready, m.End)
	return nil
}

// finished checks the result after the last send.
func (p *replay) finished() error {
	s := p.schedule
	for r := range s.Ranks {
		for c := range s.Ranks {
			wanted := s.Collective != "reducescatter" || c == r
			if wanted && p.at(r, c).state != whole {
				return fmt.Errorf("rank %d has not got chunk %d", r, c)
			}
		}
	}
	if math.Abs(p.finish-s.TimeUS) > p.slack {
		return fmt.Errorf("schedule ends at %g us: it says %g", p.finish, s.TimeUS)
	}
	return nil
}
