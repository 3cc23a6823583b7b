// Package route finds routings that nobody wrote, and says where there are none:
// the synthesis of SCCL (Cai et al., PPoPP 2021), with chunks C, steps S and
// rounds R.
//
//	step 1 (2 rounds)        step 2 (1 round)
//	0 ──x,y──▶ 1             1 ──x──▶ 2          all that a step sends was there
//	0 ──z────▶ 3             3 ──z──▶ 2          before it
//
// A step takes rounds; in a round a link carries ⌊bandwidth ÷ unit⌋ chunks,
// whichever lanes from rank to rank they take. S stands for latency, R/C for
// bandwidth.
//
//	query ─▶ bound ─▶ flow ─▶ encoding ─▶ solvers ─▶ schedule ─▶ replay ─▶ program
//	           │ unsat   │ sat              │ unsat, timeout       checks, on the
//	           ▼         ▼                  ▼                      topology alone
//
// A query is refuted by distances, by package bounds, and by maximum flows over
// the network unrolled in steps, wherever these can; only what is left is a
// solver's. Chunks that are copied are bounded by tolls on links, and looked for
// as mixes of single chunks' branchings. Sums are bounded one chunk at a time,
// too, by tolls on links, and looked for first among the routings that renamings
// of ranks leave as they are, and those that are their own mirror in time, and as
// mixes of courses of single chunks. What renamings of ranks take to each other
// (package symmetry) is looked at once, and of sums' routings that differ in
// names only one is left to the solver. Walks have formulas kept where that was
// measured to help. Chunks with one destination each are counted, not named: with
// one source or one destination in all they need no solver. What is combined in
// one place (reduce, reducescatter) is what is spread from there, backwards.
//
// Invariants: no schedule leaves the package that Replay has not judged by the
// topology and the collective's postcondition; Unsat is a bound's word or a
// solver's, and Answer.By says whose; nothing is called optimal that is not
// proved; a query keeps to its time, or to its work, and then its answer is the
// same on every machine.
//
// It measures nothing, and schedules no threadblocks: that is the compiler's.
package route
