package calibrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Request says what to fit to.
type Request struct {
	Tables   []Table            // of systems that differ in nothing but the number of nodes
	Settled  topologies.Settled // constants that the library's rows alone do not change
	Jobs     int                // simulations at a time; never changes the result
	Progress func(done, of int) // told of simulations of all rows, and the most there can be; may be nil
}

// Result is a calibration, with the simulator's times before and with it.
type Result struct {
	topologies.Calibration                        // what the judging rows accept; zero: nothing changes
	Tried                  topologies.Calibration // the best fit, whose times Rows have
	Rows                   []Row                  // of all tables, in their order
	Met                    []Bound                // where Tried would go on
	Left                   []Left                 // constants that these rows do not tell
}

// Left is a constant that was not fitted.
type Left struct{ Constant, Because string }

// LeastRows is the fewest rows that can be fitted to and judged by.
const LeastRows = 4

// Fit finds the calibration with which the simulator is nearest to half of the rows, and
// takes it unless the other half speaks against it. Nearest is the least sum of
// |log(simulated ÷ measured)|, in which all tables have the same weight, among those with
// which neither the library's rows nor the programs' come out worse than before. It is
// taken if neither the library's judging rows nor the programs' come out worse. Fewer
// than four rows are an error, as is the end of ctx.
func Fit(ctx context.Context, r Request) (*Result, error) {
	f := newFitting(r)
	if len(f.rows) < LeastRows {
		return nil, fmt.Errorf("%s: want at least %d, half to fit to and half to judge by", units.Count(len(f.rows), "time"), LeastRows)
	}
	before, err := f.simulate(ctx, topologies.Calibration{}, f.all)
	if err != nil {
		return nil, err
	}
	f.choose(before)
	best, err := f.search(ctx, before)
	if err != nil {
		return nil, err
	}
	after, err := f.simulate(ctx, best.calibration(), f.all)
	if err != nil {
		return nil, err
	}
	out := &Result{Tried: best.calibration(), Rows: f.rows, Met: f.met(best, after), Left: f.left}
	for i := range out.Rows {
		out.Rows[i].BeforeUS, out.Rows[i].AfterUS = f.whole(before[i], i, 0), f.whole(after[i], i, best.launch)
	}
	if len(out.Worse()) == 0 {
		out.Calibration = out.Tried
	}
	return out, nil
}

// Rejected reports whether the judging rows speak against the best fit.
func (r *Result) Rejected() bool { return len(r.Worse()) > 0 }

// Worse lists the origins whose judging rows come out worse with the best fit, in the
// mean or in the median.
func (r *Result) Worse() (all []Origin) {
	for _, o := range Origins {
		if e := r.Errors(o, true); e.After.worse(e.Before) {
			all = append(all, o)
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

// settled is why the library's times alone do not change a constant.
const settled = "the file has it from programs, whose times tell it better than the library's"

func (f *fitting) leave(constant, because string) { f.left = append(f.left, Left{constant, because}) }

// choose selects the constants that the rows tell, with their limits. us is the rows'
// times without launch, with the file's constants.
func (f *fitting) choose(us []float64) {
	m := f.machine()
	programs := slices.ContainsFunc(f.Tables, func(t Table) bool { return t.Origin == Program })
	const shows = 0.1 // the least part of a call's time that tells a launch
	switch {
	case !programs && f.Settled.Launch:
		f.leave(launch, settled)
	case !slices.ContainsFunc(f.fitted, func(i int) bool { return f.ofFile(i) >= shows*f.whole(us[i], i, 0) }):
		f.leave(launch, fmt.Sprintf("every call takes more than %g times as long", 1/shows))
	default:
		l := limitsOf(launch, m)
		f.launch = &l
	}
	for _, kind := range m.Kinds() {
		if !programs && slices.Contains(f.Settled.Links, kind) {
			f.leave(kind.String(), settled)
			continue
		}
		f.factors = append(f.factors, factor{kind, kind.String(), limitsOf(links, m)})
	}
	if !programs {
		f.leave(threadblocks, "how many the library ran is not known; programs tell it (--runs, --campaign)")
		return
	}
	f.factors = append(f.factors, factor{speed, threadblocks, limitsOf(threadblocks, m)})
}
