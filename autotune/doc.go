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
// A batch of large programs has fewer than 16.
//
// A cell is one size and placement. A trial belongs to one or more classes (classes.go):
// every trial to "any", and those that a runtime would itself run to that runtime's. Each
// class has its own incumbent in a cell, the fastest trial so far, and a trial is left out
// only if it can win in none, so that both the winning table and every export have the
// fastest measured program.
//
// Invariants: which trials are made does not depend on the number of jobs, nor on kills
// and resumes: batches have a fixed size, and trials in the journal are not repeated.
// Whatever an executor does to a trial is that trial's outcome. All outcomes are in the
// journal before Run returns.
//
// It makes no candidates and verifies no programs.
package autotune
