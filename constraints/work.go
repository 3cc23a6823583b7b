package constraints

import (
	"fmt"
	"time"
)

// What is found within a time limit depends on the machine: a slow or busy one
// meets the limit sooner. So the work can be limited instead: each solver counts
// what it does, in units that are the same everywhere.
//
//	1 s of work   z3   3,000,000 of libz3's own count (rlimit)
//	              pb   3,000,000 letters of the clauses that are learned, and
//	                   200 for each
//
// Work is expressed as the time that it roughly took on the machine where it was
// measured. The time limit then remains as a last resort, and an answer that met
// it says so: Answer.Counted.

// worked is how much work an engine has done.
type worked struct {
	limit time.Duration // 0 means no limit
	done  time.Duration
}

// unitsPerMicrosecond is how many of a solver's own units count as a microsecond:
// see docs/measurements/synthesis.md.
const unitsPerMicrosecond = 3

// left is how much may still be done, in units.
func (w *worked) left() int64 { return (w.limit - w.done).Microseconds() * unitsPerMicrosecond }

// add counts work that was done.
func (w *worked) add(units int64) {
	w.done += time.Duration(units/unitsPerMicrosecond+1) * time.Microsecond
}

func someWork(work time.Duration) error {
	if work < time.Microsecond {
		return fmt.Errorf("%v of work: want a microsecond or more", work)
	}
	return nil
}
