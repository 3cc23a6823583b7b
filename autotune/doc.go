// Package autotune decides which trial to run next and when to stop: it measures
// candidates, which are verified programs, or a library's own algorithms, with the knobs
// that may win.
//
//	candidates × protocol × tile, per size and placement
//	   │                  next ▲                   ▲ outcomes
//	   ▼                       │                   │
//	cells ──▶ chooser ──▶ [ trials ]──▶ executors ──▶ journal ──▶ cells
//	   where times are measured: [ contenders again ]──▶
//
// There is one loop (run.go), which measures what a chooser chooses, confirms the winners, and
// asks again. A strategy names a chooser: a row of the table in strategies.go. Bounded is
// for executors whose times are exact: it sorts trials by a lower bound of their time, and stops
// where the bound is above the incumbent's time, so that it misses no winner. The model chooses
// few trials of many, by what it expects of each. To add a chooser, write its file
// (exhaustive.go is a short one), and its row. All that depends on whether times are exact is
// a practice, of which practice.go has the two.
//
// Settings of the vendor's library compete, too, with times that a model says (Candidate.Setting): no executor runs them.
//
// A cell is one size and placement. A trial belongs to one or more classes (classes.go):
// every trial to "any", those that a runtime would itself run to that runtime's, and those of few
// SMs to that number. Each class has its own incumbent in a cell, the fastest trial so far.
// Bounded leaves a trial out only if it can win in no class, by being the fastest or about as fast
// on fewer SMs, so that the winning table, every export and the front of time against SMs have
// their winners. The model looks for the winning table's winners alone, and an export
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
//	problem.go event.go    what is tuned, the options of a run, and what is told while it goes on
//	practice.go            how trials are made: where times are exact, and where they are measured
//	work.go candidates.go  equal programs merged; what can be run nowhere, and why
//	classes.go             for whom a trial counts
//	cell.go unanswered.go  one size and placement, and its trials; how they ended
//	tuner.go limits.go     a campaign under way, and what is left of its limits
//	recall.go              the journal's trials, entered in order
//	trials.go batch.go     trials run together; the outcome that each of an executor's errors
//	                       becomes (outcomeOf)
//	confirm.go             contenders measured again
//	chooser.go             what a chooser is asked
//	bybound.go choosefiles.go   bounded: the next trials by their bounds; trials that make an
//	                       export's few files better
//	space.go cost.go       what a model chooses from, and what trials cost
//	follower.go outlook.go what it knows of a placement; what further trials would gain, and
//	                       how long they take
//	prior.go               what is expected of them before any trial
//	bymodel.go exhaustive.go   the model; all trials
//	strategies.go run.go   the strategies by name, and the loop
package autotune
