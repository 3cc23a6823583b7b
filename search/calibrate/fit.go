package calibrate

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Request says what to fit to.
type Request struct {
	Tables   []Table            // of systems that differ in nothing but the number of nodes
	Settled  topologies.Settled // constants that the library's rows do not change
	Jobs     int                // simulations at a time; never changes the result
	Progress func(done, of int) // told of simulations of all rows, and the most there can be; may be nil
}

// Result is a calibration, with the simulator's times before and with it.
type Result struct {
	topologies.Calibration                        // what the judging rows accept; zero: nothing changes
	Tried                  topologies.Calibration // the best fit, whose times Rows have
	Rows                   []Row                  // of all tables, in their order
	Met                    []Bound                // limits that Tried is at
	Told                   bool                   // the rows tell some constant
	Left                   []Left                 // constants that they do not tell
}

// LeastRows is the fewest rows that can be fitted to and judged by.
const LeastRows = 4

// Fit finds the calibration with which the simulator is nearest to half of the rows, and
// takes it unless the other half speaks against it. Nearest is the least sum of
// |log(simulated ÷ measured)| over the rows that tell a constant, in which all tables have
// the same weight, among those with which neither the library's rows nor the programs'
// come out worse than before, in all or in a band of sizes. It is taken if that is so of
// the judging rows as well. Fewer than four rows are an error, as is the end of ctx.
func Fit(ctx context.Context, r Request) (*Result, error) {
	f := newFitting(r)
	if len(f.rows) < LeastRows {
		return nil, fmt.Errorf("%s: want at least %d, half to fit to and half to judge by", units.Count(len(f.rows), "time"), LeastRows)
	}
	before, err := f.simulate(ctx, topologies.Calibration{}, f.all)
	if err != nil {
		return nil, err
	}
	if err := f.choose(ctx, before); err != nil {
		return nil, err
	}
	out, err := f.fit(ctx, before)
	if err == nil && len(out.Worse()) > 0 && f.guessesSpeed() {
		f.leave(threadblocks, "the judging times come out worse with another speed")
		out, err = f.fit(ctx, before)
	}
	return out, err
}

// fit finds the best calibration, and takes it unless the judging rows speak against it.
func (f *fitting) fit(ctx context.Context, before []float64) (*Result, error) {
	best, err := f.search(ctx, before)
	if err != nil {
		return nil, err
	}
	after, err := f.simulate(ctx, best.calibration(), f.all)
	if err != nil {
		return nil, err
	}
	out := &Result{Tried: best.calibration(), Rows: f.rows, Met: f.met(best, after), Told: f.launch != nil || len(f.factors) > 0, Left: f.left}
	for i := range out.Rows {
		out.Rows[i].BeforeUS, out.Rows[i].AfterUS = f.whole(before[i], i, 0), f.whole(after[i], i, best.launch)
	}
	if len(out.Worse()) == 0 {
		out.Calibration = out.Tried
	}
	return out, nil
}

// Worse names whose judging rows come out worse with the best fit: the library, programs,
// or a band of sizes of either.
func (r *Result) Worse() (all []string) {
	whole := map[Origin]bool{} // worse in all, and not only in a band
	for _, z := range zones {
		e := errorsOf(r.Rows, func(row *Row) bool { return row.Judged && z.has(row) })
		if e.worse(z, r.Errors(z.Origin, true)) && !whole[z.Origin] {
			all, whole[z.Origin] = append(all, z.String()), z.band == ""
		}
	}
	return all
}

// Errors returns the errors over the rows of an origin that judge, or are fitted to.
func (r *Result) Errors(o Origin, judged bool) Errors {
	return errorsOf(r.Rows, func(row *Row) bool { return row.Origin == o && row.Judged == judged })
}

// TableErrors returns the errors over all rows of a table.
func (r *Result) TableErrors(table int) Errors {
	return errorsOf(r.Rows, func(row *Row) bool { return row.Table == table })
}

// AllErrors returns the errors over all rows.
func (r *Result) AllErrors() Errors { return errorsOf(r.Rows, func(*Row) bool { return true }) }
