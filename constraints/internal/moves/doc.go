// Package moves writes the chunk program of a routing that is a list of moves: who
// sends which chunks of which root to whom, and whether they are combined there.
//
//	{From: 0, To: 1, Root: 0, Count: 2}                 allgather: 1 gets both chunks of 0
//	{From: 2, To: 1, Root: 1, Count: 1, Reduce: true}   reducescatter: 2's part of 1's chunk
//
// It decides where chunks are stored. Copied chunks go to their place in the output.
// Partial sums are in the output at their root, and of an allreduce at every rank;
// elsewhere they are in scratch. The input is not written.
//
// Invariant: moves are traced in the order given. Other operations are copies within
// a rank.
//
// It does not check the moves: package lang checks that the program does what the
// collective asks for.
package moves
