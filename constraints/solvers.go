package constraints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options says which solvers to use, and what they may take.
type Options struct {
	// Solver is auto (the default), z3 or pb. auto uses both, or pb alone if libz3
	// can't be loaded.
	Solver string
	// Timeout limits a query; 0 means a minute.
	Timeout time.Duration
	// MemoryCap limits a worker's memory, in bytes; 0 means 2 GiB.
	MemoryCap int64
	// Notice is called with a line about what a user should know: that libz3 is
	// missing, or that a solver failed. It may be nil.
	Notice func(string)
}

// Names are the values of Options.Solver.
var Names = []string{"auto", "z3", "pb"}

// Status is the outcome of a query.
type Status uint8

// The statuses.
const (
	Sat Status = iota
	Unsat
	Timeout // a limit on time, work or memory was met
)

var statusNames = [...]string{"sat", "unsat", "timeout"}

func (s Status) String() string { return statusNames[s] }

// Answer is the answer to a query.
type Answer struct {
	Status  Status
	Model   []bool  // Sat: values by variable, which Formula.Check has confirmed
	By      string  // the solver that answered: z3, pb
	Seconds float64 // wall-clock time from question to answer
	Detail  string  // Timeout: which limit was met
	// For SolveWithin: Work is the total work of all solvers that were asked.
	// Counted means that they met no limit but that on work, so the answer is the
	// same on every machine.
	Work    time.Duration
	Counted bool
}

// Fault is something a solver must not do.
type Fault string

// The faults.
const (
	Died    Fault = "died"
	Garbled Fault = "answered with garbage"
	Lied    Fault = "returned a wrong model"
	Denied  Fault = "refuted what has a model"
	Refused Fault = "gave up"
)

// SolverError reports a solver's fault, because of which there is no answer.
type SolverError struct {
	Solver string
	Fault  Fault
	Detail string
}

func (e *SolverError) Error() string {
	s := fmt.Sprintf("solver %s %s", e.Solver, e.Fault)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// UnavailableError reports that a solver that was asked for by name is not
// available here.
type UnavailableError struct {
	Solver string
	Err    error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("solver %s: %v", e.Solver, e.Err) }
func (e *UnavailableError) Unwrap() error { return e.Err }

// Solvers are worker processes that answer formulas. They start when first needed,
// live until Close, and are replaced when they fail. It is safe for concurrent
// use: each query has a worker to itself.
type Solvers struct {
	options  Options
	backends []*backend // in a fixed order
}

// Open prepares the solvers that are asked for. The error says what is wrong with
// the options, or why libz3, if asked for by name, is not available.
func Open(o Options) (*Solvers, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.MemoryCap == 0 {
		o.MemoryCap = 2 << 30
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Timeout < 0 || o.MemoryCap < 64<<20 {
		return nil, fmt.Errorf("solver limits of %v and %d bytes: want a positive time and 64 MiB or more", o.Timeout, o.MemoryCap)
	}
	s := &Solvers{options: o}
	switch o.Solver {
	case "", "auto":
		b := newBackend("z3", o.MemoryCap)
		if err := b.probe(); err != nil {
			o.Notice(fmt.Sprintf("libz3 is not used (%s): the embedded solver takes its place", firstLine(err)))
		} else {
			s.backends = append(s.backends, b)
		}
		s.backends = append(s.backends, newBackend("pb", o.MemoryCap))
	case "z3":
		b := newBackend("z3", o.MemoryCap)
		if err := b.probe(); err != nil {
			return nil, &UnavailableError{"z3", err}
		}
		s.backends = append(s.backends, b)
	case "pb":
		s.backends = append(s.backends, newBackend("pb", o.MemoryCap))
	default:
		return nil, fmt.Errorf("unknown solver %q: want one of %s", o.Solver, strings.Join(Names, ", "))
	}
	return s, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Close ends all workers. Queries that are still running return an error.
func (s *Solvers) Close() {
	for _, b := range s.backends {
		b.close()
	}
}

// Timeout is the time limit of a query.
func (s *Solvers) Timeout() time.Duration { return s.options.Timeout }

// Notice passes on what a user should know, to Options.Notice.
func (s *Solvers) Notice(text string) { s.options.Notice(text) }

// Solvers lists the solvers in use, in a fixed order.
func (s *Solvers) Solvers() []string {
	names := make([]string, len(s.backends))
	for i, b := range s.backends {
		names[i] = b.name
	}
	return names
}

// Versions returns the version of each solver in use, in the order of Solvers. It
// starts those that have not been needed yet.
func (s *Solvers) Versions() ([]string, error) {
	versions := make([]string, len(s.backends))
	for i, b := range s.backends {
		if err := b.probe(); err != nil {
			return nil, err
		}
		versions[i] = b.version
	}
	return versions, nil
}

// Solve asks all solvers in parallel, takes the first answer and stops the others.
// Which model it returns may vary from run to run, unless the formula's
// preferences determine it. A solver's fault is an error only if no other solver
// answers; otherwise it is a notice.
func (s *Solvers) Solve(ctx context.Context, f *Formula) (Answer, error) {
	return s.solve(ctx, f, s.backends, 0, false)
}

// SolveInOrder asks one solver after another, always in the same order, going on
// only if one met a limit or failed. Solvers named in first, if in use, are asked
// first, because they are good at such formulas.
func (s *Solvers) SolveInOrder(ctx context.Context, f *Formula, first ...string) (Answer, error) {
	return s.solve(ctx, f, s.inOrder(first), 0, true)
}

// SolveWithin is SolveInOrder with a limit on the work of each solver, so that the
// answer is the same on every machine. The time limit applies all the same: see
// Answer.Counted.
func (s *Solvers) SolveWithin(ctx context.Context, work time.Duration, f *Formula, first ...string) (Answer, error) {
	if err := someWork(work); err != nil {
		return Answer{}, err
	}
	return s.solve(ctx, f, s.inOrder(first), work, true)
}

func (s *Solvers) inOrder(first []string) []*backend {
	order := slices.Clone(s.backends)
	slices.SortStableFunc(order, func(a, b *backend) int {
		return place(first, a.name) - place(first, b.name)
	})
	return order
}

// SolveBy asks one of the solvers in use, by name.
func (s *Solvers) SolveBy(ctx context.Context, f *Formula, name string) (Answer, error) {
	return s.solveBy(ctx, 0, f, name)
}

// SolveByWithin is SolveBy with a limit on the solver's work: see SolveWithin.
func (s *Solvers) SolveByWithin(ctx context.Context, work time.Duration, f *Formula, name string) (Answer, error) {
	if err := someWork(work); err != nil {
		return Answer{}, err
	}
	return s.solveBy(ctx, work, f, name)
}

func (s *Solvers) solveBy(ctx context.Context, work time.Duration, f *Formula, name string) (Answer, error) {
	for _, b := range s.backends {
		if b.name == name {
			return s.solve(ctx, f, []*backend{b}, work, true)
		}
	}
	return Answer{}, fmt.Errorf("solver %q is not in use: want one of %s", name, strings.Join(s.Solvers(), ", "))
}

// place is a name's position in a list; names that are not in it come last.
func place(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

// SolveAll answers many formulas, each as SolveInOrder does, on at most the given
// number of workers at a time. Answers are in the order of the formulas. The first
// error ends it.
func (s *Solvers) SolveAll(ctx context.Context, formulas []*Formula, workers int) ([]Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]Answer, len(formulas))
	next := make(chan int)
	var all sync.WaitGroup
	for range max(1, min(workers, len(formulas))) {
		all.Go(func() {
			for i := range next {
				a, err := s.SolveInOrder(ctx, formulas[i])
				if err != nil {
					cancel(err)
				}
				answers[i] = a
			}
		})
	}
	for i := range formulas {
		next <- i
	}
	close(next)
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return answers, nil
}

// stragglers is how long slower solvers may take to finish after one has answered,
// since keeping a worker is cheaper than starting a new one.
const stragglers = 100 * time.Millisecond

func (s *Solvers) solve(ctx context.Context, f *Formula, backends []*backend, work time.Duration, inOrder bool) (Answer, error) {
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	start := time.Now()
	type result struct {
		Answer
		err error
	}
	results := make(chan result, len(backends))
	race, cancel := context.WithCancel(ctx)
	ask := func(b *backend) {
		a, err := b.ask(race, f, s.options.Timeout, work)
		results <- result{a, err}
	}
	if !inOrder {
		for _, b := range backends {
			go ask(b)
		}
	}
	var limit *Answer
	var faults []error
	counted, done := true, time.Duration(0)
	for _, b := range backends {
		if inOrder {
			ask(b)
		}
		r := <-results
		counted, done = counted && r.err == nil && r.Counted, done+r.Work
		r.Counted, r.Work = counted, done
		switch {
		case ctx.Err() != nil:
			cancel()
			return Answer{}, ctx.Err()
		case r.err != nil:
			faults = append(faults, r.err)
			continue
		case r.Status == Timeout:
			limit = &r.Answer
			continue
		}
		time.AfterFunc(stragglers, cancel)
		for _, fault := range faults {
			s.options.Notice(fmt.Sprintf("%s: %s answered instead", firstLine(fault), r.By))
		}
		r.Seconds = time.Since(start).Seconds()
		return r.Answer, nil
	}
	cancel()
	if limit != nil {
		for _, fault := range faults {
			s.options.Notice(firstLine(fault))
		}
		limit.Seconds = time.Since(start).Seconds()
		return *limit, nil
	}
	return Answer{}, errors.Join(faults...)
}
