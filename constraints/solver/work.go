package solver

import (
	"fmt"
	"time"
)

// The answer within a time limit depends on the machine: a slow or busy one meets
// the limit sooner. So the work can be limited instead. Each solver counts its work
// in units that are the same on every machine.
//
//	1 s of work   z3   3,000,000 of libz3's own count (rlimit)
//	              pb   3,000,000 characters of the learned clauses as DIMACS
//	                   lines, and 200 for each clause
//
// Work is expressed as the time that it took on the machine where it was measured.

// patience is the time limit of a query whose work is limited, unless one was asked for:
// some hundred times as long as seconds of work take. A solver that meets it hangs.
const patience = time.Hour

// workMeter is the work an engine has done and may do.
type workMeter struct {
	limit time.Duration // 0 means no limit
	done  time.Duration
}

// unitsPerMicrosecond is the number of a solver's own units that count as a
// microsecond of work, as measured in docs/measurements/synthesis.md.
const unitsPerMicrosecond = 3

// left returns the work that may still be done, in the solver's units.
func (w *workMeter) left() int64 { return (w.limit - w.done).Microseconds() * unitsPerMicrosecond }

// add counts work done, in the solver's units.
func (w *workMeter) add(units int64) {
	w.done += time.Duration(units/unitsPerMicrosecond+1) * time.Microsecond
}

// checkWork returns an error if a limit on work is too small to mean anything.
func checkWork(work time.Duration) error {
	if work < time.Microsecond {
		return fmt.Errorf("%v of work: want a microsecond or more", work)
	}
	return nil
}
