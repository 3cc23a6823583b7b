// Package bounds computes, for a topology and a collective, an exact upper bound on the
// algorithm bandwidth of any routing and a lower bound on its latency, with proofs.
//
//	            ┌── S ──┐     7 of 8 shards must enter rank 0 through its
//	rank 0 ◀════│ 1 … 7 │     300 GB/s, so an allgather of 8 shards runs at
//	  300 GB/s  └───────┘     no more than 300 · 8/7 = 342.857 GB/s
//
// There are three kinds of bounds: a set of ranks and the data that must leave it,
// against the capacity of its links (a cut); 2(k-1) times the size against the capacity
// out of the k groups of a partition (allreduce); and the distances that all parts have
// to go against the lengths of links times their capacity, which is the dual of
// multicommodity flow. The least is the answer. Capacities are whole bytes a second, so
// a bound is a fraction and compares exactly.
//
// Model: any rank may relay data; a switch does not copy or reduce; the directions of a
// link are independent.
//
// Invariants: a bound is never below the bandwidth of any routing (docs/reference/bounds.md has
// the arguments). Relabelling ranks does not change the bound of a symmetric collective
// if all sets of ranks are examined (up to ten ranks) or a flow reaches the bound; on
// larger systems alltoall and allreduce try blocks of consecutive ranks. A bound ends
// with its context. The work of each kind is limited; a bound whose limit was met holds,
// and its Proof says what was not examined.
//
// Bound.ReachedBps is the bandwidth of a multicommodity flow for alltoall, alltonext and
// sendrecv, in floating point.
//
// It does not find routings, and asks no solver.
package bounds
