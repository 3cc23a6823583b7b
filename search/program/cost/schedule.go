package cost

import (
	"slices"
	"sort"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/topologies"
)

// connectionSchedule holds the connections of a program, on which messages follow one
// another, and when each is busy.
//
//	rank 0 ▶ 1   ▕ op 0 ▏ op 4 ▏      ▕ op 9 ▏
//	                          ▲ op 5 is ready, and goes into the gap if it is long enough
type connectionSchedule struct {
	of    []int32 // by operation: index of its connection, or noConnection
	conns []connection
	paths []*pathCost      // by connection
	busy  [][]interval     // by connection, rising
	first map[uint64]int32 // by sender and receiver: 1 + their first connection
}

type connection struct {
	from, to, channel, scope int32
	next                     int32 // 1 + another connection of the two ranks, or 0
	end                      int32 // the first connection of the two ranks on this channel
}

type interval struct {
	from, until float64
	op          int32
}

const noConnection = -1 // in place of a connection, for an operation within a rank

func newConnectionSchedule(ops []compiler.Operation, t *topologies.Topology) *connectionSchedule {
	s := &connectionSchedule{of: make([]int32, len(ops)), first: map[uint64]int32{}}
	for i := range ops {
		op := &ops[i]
		if isLocal(op) {
			s.of[i] = noConnection
			continue
		}
		s.of[i] = s.connection(op.Src.Rank, op.Dst.Rank, op.Channel, op.Scope, t)
	}
	s.busy = make([][]interval, len(s.conns))
	return s
}

// connection returns the index of the connection of a message's ranks, channel and scope.
func (s *connectionSchedule) connection(from, to, channel, scope int32, t *topologies.Topology) int32 {
	pair := uint64(from)<<32 | uint64(to)
	n, end := int32(len(s.conns)), int32(len(s.conns))
	first := s.first[pair]
	for k := first; k > 0; k = s.conns[k-1].next {
		if c := &s.conns[k-1]; c.channel == channel {
			if c.scope == scope {
				return k - 1
			}
			end = c.end
		}
	}
	s.conns = append(s.conns, connection{from, to, channel, scope, 0, end})
	if first == 0 {
		path := pathCostOf(t, from, to)
		s.first[pair], s.paths = n+1, append(s.paths, &path)
		return n
	}
	s.conns[n].next, s.conns[first-1].next = s.conns[first-1].next, n+1
	s.paths = append(s.paths, s.paths[first-1])
	return n
}

// channels counts the channels between two ranks, of which first is as in first.
func (s *connectionSchedule) channels(first int32) (n int) {
	for k := first; k > 0; k = s.conns[k-1].next {
		if s.conns[k-1].end == k-1 {
			n++
		}
	}
	return n
}

// queue puts message i, ready at a time and sent for another, both in µs, into the first
// gap of its connection that is long enough. It returns the message before that gap, or
// -1 if i waits for none.
func (s *connectionSchedule) queue(i int32, ready, takes float64) (ahead int32) {
	busy := s.busy[s.of[i]]
	gap := sort.Search(len(busy), func(n int) bool { return busy[n].until > ready })
	ahead = -1
	for ; gap < len(busy) && busy[gap].from < ready+takes; gap++ {
		ready, ahead = busy[gap].until, busy[gap].op
	}
	s.busy[s.of[i]] = slices.Insert(busy, gap, interval{ready, ready + takes, i})
	return ahead
}
