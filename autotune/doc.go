// Package autotune decides which trial to run next and when to stop: it measures
// candidates, which are verified programs, or a library's own algorithms, with the knobs
// that may win.
//
//	candidates × protocol × tile, per size and placement
//	   │ a strategy chooses                        ▲ outcomes
//	   ▼                                           │
//	[ baselines | chosen | chosen | … ]──▶ executors ──▶ journal
//	   where times are measured: [ contenders again ]──▶
//
// A strategy is bounded, exhaustive or package model. Bounded serves executors whose times
// are exact: it sorts trials by a lower bound of their time, and stops where the bound is
// above the incumbent's time, so that it misses no winner. The others choose few trials of
// many, by what they expect of each.
//
// A cell is one size and placement. A trial belongs to one or more classes (classes.go):
// every trial to "any", and those that a runtime would itself run to that runtime's. Each
// class has its own incumbent in a cell, the fastest trial so far. Bounded leaves a trial
// out only if it can win in no class, so that both the winning table and every export have
// the fastest program. The others look for the winning table's winners alone, and an export
// takes the fastest of what was measured.
//
// Invariants: which trials are made does not depend on the number of jobs; what is chosen
// next follows from the seed and the journal alone, so kills and resumes lose no finished
// trial and change no winner of exact times. Whatever an executor does to a trial is that
// trial's outcome. All outcomes are in the journal before Run returns.
//
// It makes no candidates and verifies no programs.
//
// Files, in an order to read them in:
//
//	problem.go             what is tuned, and the options of a run
//	run.go                 Run: the cells, the strategy, the limits
//	candidates.go          equal programs merged; what can be run nowhere, and why
//	classes.go             for whom a trial counts
//	cell.go                one size and placement, and its trials
//	strategies.go          the strategies by name
//	bybound.go choosefiles.go   bounded: the next trials by their bounds; trials that make an
//	                       export's few files better
//	recall.go              the journal's trials, entered in order
//	space.go follow.go     the other strategies: what they choose from, and the run of one
//	prior.go work.go       what a model expects of them before any trial
//	cost.go outlook.go     what trials cost; what further ones would gain, and how long they take
//	confirm.go             contenders measured again
//	batch.go effort.go trials.go   trials run together, each with how many iterations; and the
//	                       outcome that each of an executor's errors becomes (outcomeOf)
//	event.go unanswered.go what is told while a run goes on, and at its end
package autotune
