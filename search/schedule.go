package search

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
	paths []*pathCost  // by connection
	busy  [][]interval // by connection, rising
}

type connection struct {
	from, to, channel, scope int32
}

type interval struct {
	from, until float64
	op          int32
}

const noConnection = -1 // in place of a connection, for an operation within a rank

func newConnectionSchedule(ops []compiler.Operation, t *topologies.Topology) *connectionSchedule {
	s := &connectionSchedule{of: make([]int32, len(ops))}
	paths, index := map[[2]int32]*pathCost{}, map[connection]int32{}
	for i := range ops {
		op := &ops[i]
		if isLocal(op) {
			s.of[i] = noConnection
			continue
		}
		conn := connection{op.Src.Rank, op.Dst.Rank, op.Channel, op.Scope}
		n, known := index[conn]
		if !known {
			pair := [2]int32{conn.from, conn.to}
			if paths[pair] == nil {
				path := pathCostOf(t, conn.from, conn.to)
				paths[pair] = &path
			}
			n = int32(len(s.conns))
			index[conn], s.conns, s.paths = n, append(s.conns, conn), append(s.paths, paths[pair])
		}
		s.of[i] = n
	}
	s.busy = make([][]interval, len(s.conns))
	return s
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
