// Package replay is the executor that plays a table of recorded times back: configurations
// times sizes, of a campaign, a cluster or a publication.
//
//	[executor.replay] file = "times"  ──▶ recorded.Space ──▶ native algorithms, one a configuration
//	trial{ring LL channels=8, 1 KiB} ──▶ the recorded times × a factor of noise, by seed
//
// So a search, and what chooses its trials, can be tried on a space that is known whole, at
// no cost, by anyone.
//
// Files: settings.go, the user's; replay.go, the executor; natives.go, configurations as
// native algorithms.
//
// Invariants: only what was recorded is offered, and any other trial is refused; the
// times of a trial follow from the settings, the table, the trial and the numbers of those
// before it, in whichever process.
//
// It runs no programs, and moves no data.
package replay
