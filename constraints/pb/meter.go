package pb

import "github.com/crillab/gophersat/solver"

// meter counts the clauses that gophersat learns, and ends the solver when they
// exceed a limit. gophersat has no limit of its own, but sends each learned clause
// to a channel, as a line for a proof. Sending to a closed channel panics:
//
//	solver ── "3 -7 12 0" ──▶ meter      left: 500 ─▶ 291 ─▶ … ─▶ -5: close
//
// So a solve ends at the same clause on every machine.
type meter struct{ left int64 }

// unitsPerClause is the work that a clause counts beside one unit for each character
// of its line. About three units take a microsecond.
const unitsPerClause = 200

// attach makes the meter read a solver's learned clauses until stop is called.
func (m *meter) attach(s *solver.Solver) (stop func()) {
	lines := make(chan string)
	s.Certified, s.CertChan = true, lines
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case line := <-lines:
				if m.left -= int64(len(line)) + unitsPerClause; m.left < 0 {
					close(lines) // at which the solver panics
					return
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-gone
	}
}
