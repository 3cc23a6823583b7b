package pb

import "github.com/crillab/gophersat/solver"

// meter counts what a solver learns and, when that is enough, ends it. gophersat
// has no limit of its own; but what it learns it can tell, a line for each clause,
// and whoever reads that may hang up:
//
//	solver ── "3 -7 12 0" ──▶ meter      left: 500 ─▶ 291 ─▶ … ─▶ -5: the next
//	                                     line meets a channel that is closed
//
// So a solve ends at the same clause on every machine.
type meter struct{ left int64 }

// perClause is what a clause costs beside its line. A line's letters take about as
// long to be learned as they are many: some three of either take a microsecond.
const perClause = 200

// read has the meter read what a solver tells, until stop.
func (m *meter) read(s *solver.Solver) (stop func()) {
	lines := make(chan string)
	s.Certified, s.CertChan = true, lines
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case line := <-lines:
				if m.left -= int64(len(line)) + perClause; m.left < 0 {
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
