// Package synth synthesises routings, or proves that there are none: the model is that of
// SCCL (Cai et al., PPoPP 2021, section 3), with chunks C, steps S and rounds R.
//
//	step 1 (2 rounds)        step 2 (1 round)
//	0 ──x,y──▶ 1             1 ──x──▶ 2          a step sends only chunks that were
//	0 ──z────▶ 3             3 ──z──▶ 2          there before it
//
// A step takes one round or more. In a round a link carries ⌊bandwidth ÷ unit⌋ chunks,
// over all lanes (paths from rank to rank) that use it. S stands for latency, R/C for
// bandwidth.
//
//	query ─▶ known routings ─▶ bounds ─▶ one flow ─▶ branchings, solvers ─▶ schedule ─▶ replay ─▶ program
//	              │ sat           │ unsat    │ sat         │ unsat, timeout      checks, on the
//	              ▼               ▼          ▼             ▼                     topology alone
//
// Bounds are distances, package bounds, and maximum flows over the network unrolled in
// steps. Solvers get the queries that these do not settle.
//
//   - Chunks with one destination each are an integer flow for each source. With one
//     source or one destination in all they need no solver.
//   - Chunks with several destinations are tracked by name. On two nodes, whose narrow
//     links solvers handle badly, they are also bounded by dual prices of the links in each
//     step, and routed by packing branchings (arborescences, after Edmonds).
//   - Reductions to one place (reduce, reducescatter) are copies from there (broadcast,
//     allgather) on the reversed network, reversed in time.
//   - Sums wanted in several places (allreduce) are looked for as a reducescatter and an
//     allgather (compose.go), and then by a direct encoding with symmetry breaking.
//
// Terms of this package: a lane is a path from rank to rank; an item is a chunk, or the
// place of a sum; a demand is a flow that every routing contains; a split divides the rounds
// among the steps.
//
// Invariants: every schedule returned has passed Replay, which uses the topology and the
// collective's postcondition only; Answer.By names the bound or solver that refuted a query;
// Optimal and Proved are set only with a proof; a query keeps to its limit of time or
// work, and with a limit of work its answer is the same on every machine.
//
// It does not measure, and does not schedule threadblocks: the compiler does.
//
// A query's budget is a deadline, by default the solvers' own time limit, or counted work:
// solveBudget in budget.go. It is a part of the whole search's, and answer in find.go turns
// what overran it into a Timeout; solver/backend.go's exchange ends the worker. Models are
// replayed (replay.go); a solver's unsat is taken at its word, and proof.go only puts into
// words what refuted a query.
//
// Files, in an order to read them in:
//
//	query       network.go schedule.go query.go symmetry.go
//	answer      replay.go program.go known.go
//	bounds      flow.go demands.go bound.go bound_rate.go bound_cuts.go
//	encodings   encode_chunks.go encode_flow.go encode_sum.go
//	solving     budget.go solve.go branch.go branch_prices.go branch_packing.go
//	            branch_search.go
//	search      compose.go find.go ratios.go proof.go frontier.go candidates.go
package synth
