// Package autotune decides which trial to run next and when to stop: it takes
// candidates (verified programs with their knobs' lower bounds) to measured
// times, and gives up on a trial only when it cannot win.
//
//	candidates × protocol × tile, per size and placement
//	   │ sort by bound
//	   ▼
//	[ first    | batch of 16 | batch of 16 | … ]──▶ executors (jobs of them) ──▶ journal
//	                 ▲                                               │
//	                 └── a bound above the incumbent's time: stop ◀──┘
//
// First come what the vendor's library would run and what won a size below. A
// batch of large programs has fewer.
//
// A trial belongs to one or more classes (classes.go): every trial to "any",
// and those that a runtime would itself run to that runtime's. Each class has
// its own incumbent, and a trial is left out only if it can win in none, so
// that both the winning table and every export have the best there is.
//
// Invariants: which trials are made does not depend on the number of jobs, nor
// on kills and resumes: batches have a fixed size, and what the journal knows
// costs nothing. Whatever an executor does to a trial is that trial's outcome.
// Everything measured is in the journal before Run returns.
//
// It does not make candidates and it does not judge programs.
package autotune
