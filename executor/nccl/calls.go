package nccl

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
)

// call is one of the library's functions on a rank: where it reads, where it
// writes, how many elements, and the peer or root.
type call struct {
	function string
	from, to span
	count    int64
	peer     int
}

// span is a range of bytes in a rank's buffers.
type span struct {
	buffer collective.Buffer
	offset int64
}

// whole lists the collectives for which the library's own function is used: those
// that reduce, and those that it does better than sends and receives would.
var whole = map[string]string{
	"allreduce": "ncclAllReduce", "allgather": "ncclAllGather", "reducescatter": "ncclReduceScatter",
	"broadcast": "ncclBroadcast", "reduce": "ncclReduce",
}

// callsOf lists the calls by which a rank takes part in a collective. One without
// a function of its own is a group of sends and receives: each part of an output
// is received from the rank whose input it is. Both ends list theirs in the same
// order.
func callsOf(c collective.Collective, l data.Layout, rank int) []call {
	at := func(b collective.Buffer, i int) span {
		buffer, index := c.Place(rank, b, i)
		return span{buffer, l.Start(index) * int64(l.ElemBytes)}
	}
	if f, ok := whole[c.Name]; ok {
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
				continue // it is there already
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

// callable reports whether the library's functions can make a collective: it has one
// of its own, or is nothing but copies.
func callable(name string) bool {
	if _, ok := whole[name]; ok {
		return true
	}
	c, err := collective.New(collective.Spec{Name: name, Ranks: 2, Chunks: 1})
	return err == nil && !c.Reduces()
}
