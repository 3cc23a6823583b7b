// Package autotune decides which trial to run next and when to stop: it measures
// candidates, which are verified programs with lower bounds on their times, and leaves
// out a trial only when it cannot win.
//
//	candidates × protocol × tile, per size and placement
//	   │ sort by bound
//	   ▼
//	[ first    | batch of 16 | batch of 16 | … ]──▶ executors (jobs of them) ──▶ journal
//	                 ▲                                               │
//	                 └── a bound above the incumbent's time: stop ◀──┘
//
// The first trials are the vendor's library's and the winners at the next smaller size.
// A batch of large programs has fewer than 16. Under a budget the sizes take turns, so that
// each has a good program wherever it ends (tuneAll).
//
// A cell is one size and placement. A trial belongs to one or more classes (classes.go):
// every trial to "any", and those that a runtime would itself run to that runtime's. Each
// class has its own incumbent in a cell, the fastest trial so far, and a trial is left out
// only if it can win in none, so that both the winning table and every export have the
// fastest measured program.
//
// Invariants: which trials are made does not depend on the number of jobs, nor on kills
// and resumes: batches have a fixed size, and trials in the journal are not repeated. A
// budget may add trials, and changes no winner.
// Whatever an executor does to a trial is that trial's outcome. All outcomes are in the
// journal before Run returns.
//
// It makes no candidates and verifies no programs.
//
// Files, in an order to read them in:
//
//	problem.go             what is tuned, and the options of a run
//	run.go                 Run: the cells one after another, or in turns
//	candidates.go          equal programs merged; what can be run nowhere, and why
//	classes.go             for whom a trial counts
//	cell.go bybound.go     one size and placement; the next trials by their bounds
//	batch.go trials.go     trials run together; one trial, and the outcome that each of an
//	                       executor's errors becomes (outcomeOf)
//	repeat.go neartiles.go choosefiles.go   trials beyond those by bound
//	event.go unanswered.go what is told while a run goes on, and at its end
package autotune
