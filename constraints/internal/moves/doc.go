// Package moves writes chunk programs of routings that are lists of moves: who
// sends which of whose chunks to whom, and whether they are combined there.
//
//	{From: 0, To: 1, Root: 0, Count: 2}                 allgather: 1 gets both chunks of 0
//	{From: 2, To: 1, Root: 1, Count: 1, Reduce: true}   reducescatter: 2's part of 1's chunk
//
// It decides where chunks lie meanwhile. What spreads lies in the output at
// once. Sums grow in the output where that is written over in the end (allreduce)
// or is theirs (the root's), and in scratch elsewhere: the input is the caller's.
//
// Invariant: moves are traced in the order given, and nothing beside them but
// copies within a rank.
//
// Package lang checks that the result is the collective's; this one believes
// what it is told.
package moves
