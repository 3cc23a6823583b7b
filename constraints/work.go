package constraints

import (
	"fmt"
	"time"
)

// A limit of time is met sooner by a machine that is slow or busy, and then what
// is found there differs. So work can be limited instead: each solver counts what
// it does, the same wherever it is asked the same.
//
//	1 s of work   z3   3,000,000 of libz3's own count (rlimit)
//	              pb   3,000,000 letters of the clauses that are learned, and
//	                   200 for each
//
// Work is told as the time that it took about where it was measured. Time is then
// the last resort, and an answer that met it says so: Answer.Counted.

// worked is how much of an engine's work is done.
type worked struct {
	limit time.Duration // 0: none
	done  time.Duration
}

// unitsPerMicrosecond is how many of a solver's own units a microsecond is taken for: see
// docs/measurements/synthesis.md.
const unitsPerMicrosecond = 3

// left is what may still be done, in units.
func (w *worked) left() int64 { return (w.limit - w.done).Microseconds() * unitsPerMicrosecond }

// add counts units that were done.
func (w *worked) add(units int64) {
	w.done += time.Duration(units/unitsPerMicrosecond+1) * time.Microsecond
}

func someWork(work time.Duration) error {
	if work < time.Microsecond {
		return fmt.Errorf("%v of work: want a microsecond or more", work)
	}
	return nil
}
