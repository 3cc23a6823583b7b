package nccl

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
)

// call is a call of one of the library's functions on a rank.
type call struct {
	function string
	from, to span
	count    int64 // elements
	peer     int   // or the root
}

// span is a range of bytes in a rank's buffers.
type span struct {
	buffer collective.Buffer
	offset int64
}

// ownFunctions maps collectives to the library's own functions: those that reduce, and
// those that it does better than sends and receives would.
var ownFunctions = map[string]string{
	"allreduce": "ncclAllReduce", "allgather": "ncclAllGather", "reducescatter": "ncclReduceScatter",
	"broadcast": "ncclBroadcast", "reduce": "ncclReduce",
}

// callsOf lists a rank's calls for a collective. One without a function of its own is a
// group of sends and receives: each chunk of an output is received from the rank whose
// input it is. Both ends list theirs in the same order.
func callsOf(c collective.Collective, l data.Layout, rank int) []call {
	at := func(b collective.Buffer, i int) span {
		buffer, index := c.Place(rank, b, i)
		return span{buffer, l.Start(index) * int64(l.ElemBytes)}
	}
	if f, ok := ownFunctions[c.Name]; ok {
		count := l.UnitElements
		return []call{{function: f, from: at(collective.In, 0), to: at(collective.Out, 0), count: count, peer: c.Root}}
	}
	var all []call
	for to := range c.Ranks {
		for i := range c.OutChunks(to) {
			want := c.Want(to, i)
			if want.Kind != collective.WantInput {
				continue
			}
			count := l.Elements(i)
			if want.Rank == rank && to == rank && at(collective.In, want.Index) == at(collective.Out, i) {
				continue // in place
			}
			if want.Rank == rank {
				all = append(all, call{function: "ncclSend", from: at(collective.In, want.Index), count: count, peer: to})
			}
			if to == rank {
				all = append(all, call{function: "ncclRecv", to: at(collective.Out, i), count: count, peer: want.Rank})
			}
		}
	}
	return all
}

// supports reports whether the library has a function for a collective, or the collective
// only copies.
func supports(name string) bool {
	if _, ok := ownFunctions[name]; ok {
		return true
	}
	c, err := collective.New(collective.Spec{Name: name, Ranks: 2, Chunks: 1})
	return err == nil && !c.Reduces()
}
