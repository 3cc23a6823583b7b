package search

import (
	"slices"
	"sort"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// connectionSchedule holds the connections of a program, on which messages follow one
// another, and when each is busy.
//
//	rank 0 ▶ 1   ▕ op 0 ▏ op 4 ▏      ▕ op 9 ▏
//	                          ▲ op 5 is ready, and goes into the gap if it is long enough
type connectionSchedule struct {
	of    []int32 // by operation: index of its connection, or within
	at    []connection
	ways  []*pathCost  // by connection
	turns [][]interval // by connection, rising
}

type connection struct {
	from, to, channel, scope int32
}

type interval struct {
	from, until float64
	op          int32
}

const within = -1 // the connection of an operation within a rank

func scheduleConnections(p *lang.Program, t *topologies.Topology) *connectionSchedule {
	l := &connectionSchedule{of: make([]int32, len(p.Ops))}
	ways, numbers := map[[2]int32]*pathCost{}, map[connection]int32{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Src.Rank == op.Dst.Rank {
			l.of[i] = within
			continue
		}
		at := connection{op.Src.Rank, op.Dst.Rank, op.Channel, op.Scope}
		n, known := numbers[at]
		if !known {
			pair := [2]int32{at.from, at.to}
			if ways[pair] == nil {
				way := pathCostOf(t, at.from, at.to)
				ways[pair] = &way
			}
			n = int32(len(l.at))
			numbers[at], l.at, l.ways = n, append(l.at, at), append(l.ways, ways[pair])
		}
		l.of[i] = n
	}
	l.turns = make([][]interval, len(l.at))
	return l
}

// queue puts message i, ready at a time and sent for another, both in µs, into the first
// gap of its connection that is long enough. It returns the message before that gap, or
// -1 if i waits for none.
func (l *connectionSchedule) queue(i int32, ready, takes float64) (before int32) {
	turns := l.turns[l.of[i]]
	place := sort.Search(len(turns), func(n int) bool { return turns[n].until > ready })
	before = -1
	for ; place < len(turns) && turns[place].from < ready+takes; place++ {
		ready, before = turns[place].until, turns[place].op
	}
	l.turns[l.of[i]] = slices.Insert(turns, place, interval{ready, ready + takes, i})
	return before
}
