// Package bounds says what no routing can beat: for a topology and a
// collective, an exact upper bound on the algorithm bandwidth and a lower bound
// on the latency, each with its proof.
//
//	            ┌── S ──┐     7 of 8 shards must enter rank 0 through its
//	rank 0 ◀════│ 1 … 7 │     300 GB/s, so an allgather of 8 shards runs at
//	  300 GB/s  └───────┘     no more than 300 · 8/7 = 342.857 GB/s
//
// A bound is a row: a set of ranks and what must leave it, against what its
// links can carry; all that must be sent, against what all ranks can send; or
// the distances all parts have to go, against what links carry of length.
// The least row is the answer. Capacities are whole bytes a second, so a bound
// is a fraction and compares exactly.
//
// Invariants: a bound is never below what some routing reaches (docs/bounds.md
// has the arguments); relabelling ranks changes no bound of a collective that
// is itself symmetric, where all sets of ranks are looked at (up to ten ranks;
// of more, alltoall and allreduce try blocks of neighbouring numbers) or a flow
// reaches it; data may be relayed by any rank; a switch does not copy or reduce;
// what a link carries one way leaves the other way free.
//
// Bound.Reached is what a multicommodity flow reaches, of alltoall, alltonext and
// sendrecv: found in floats, told in fractions, added up exactly.
//
// A bound ends with its context, wherever it is. Each row does so much work at most;
// one that came to that says what it has not looked at, and holds without it.
//
// It does not find routings, and asks no solver.
package bounds
