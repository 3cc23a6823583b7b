package solver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/lists"
)

// Options says which solvers to use, and their limits.
type Options struct {
	// Solver is auto (the default), z3 or pb. auto uses both, or pb alone if libz3
	// can't be loaded.
	Solver string
	// Timeout is the time limit of each solver for a query; 0 means a minute or, where
	// its work is limited, an hour, which only a solver that hangs meets.
	Timeout time.Duration
	// MemoryCap is the memory limit of each worker, in bytes, at least 64 MiB; 0
	// means 2 GiB.
	MemoryCap int64
	// Notice is called with one line when libz3 is missing or a solver failed. It
	// may be nil. Calls come from the goroutines that ask the queries.
	Notice func(string)
}

// Names are the values of Options.Solver.
var Names = []string{"auto", "z3", "pb"}

// Status is the outcome of a query.
type Status uint8

// The outcomes of a query.
const (
	Sat Status = iota
	Unsat
	Timeout // a limit on time, work or memory was met
)

var statusNames = [...]string{"sat", "unsat", "timeout"}

// String returns the status in lower case.
func (s Status) String() string { return statusNames[s] }

// Answer is the answer to a query.
type Answer struct {
	Status  Status
	Model   []bool  // Sat: a value for each variable, confirmed by constraints.Formula.Check
	By      string  // the solver that answered: z3, pb
	Seconds float64 // wall-clock time from question to answer
	Detail  string  // Timeout: which limit was met
	// Work is the total work of all solvers asked, for queries that limit it.
	Work time.Duration
	// Counted means that no solver met a limit other than that on work, so that
	// the answer is the same on every machine.
	Counted bool
}

// Fault is a kind of failure of a solver.
type Fault string

// The kinds of failure.
const (
	Died    Fault = "died"                   // the worker's process ended
	Garbled Fault = "answered with garbage"  // it sent a malformed message
	Lied    Fault = "returned a wrong model" // Formula.Check rejects it
	Refused Fault = "gave up"                // with an error of its own
)

// SolverError is the fault of a solver that gave no usable answer.
type SolverError struct {
	Solver string // z3 or pb
	Fault  Fault
	Detail string // empty if there is nothing to add
}

// Error names the solver, the fault and the detail.
func (e *SolverError) Error() string {
	s := fmt.Sprintf("solver %s %s", e.Solver, e.Fault)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// UnavailableError reports that a solver requested by name cannot be used on this
// machine.
type UnavailableError struct {
	Solver string
	Err    error
}

// Error names the solver and the reason.
func (e *UnavailableError) Error() string { return fmt.Sprintf("solver %s: %v", e.Solver, e.Err) }

// Unwrap returns the reason, such as that of loading libz3.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Pool is a pool of worker processes that answer queries. Workers start when
// first needed and are replaced when they fail. Whoever calls Open must call Close.
// It is safe for concurrent use: each query has a worker to itself. The zero value has
// no solver, and every query is an error.
type Pool struct {
	options  Options
	backends []*backend // in a fixed order
}

// Open prepares the solvers that the options name. The error is about the options,
// or an *UnavailableError if libz3 is asked for by name and cannot be used.
func Open(o Options) (*Pool, error) {
	if o.MemoryCap == 0 {
		o.MemoryCap = 2 << 30
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Timeout < 0 || o.MemoryCap < 64<<20 {
		return nil, fmt.Errorf("solver limits of %v and %d bytes: want a positive time and 64 MiB or more", o.Timeout, o.MemoryCap)
	}
	s := &Pool{options: o}
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

// Close kills all workers. Queries that are still running return an error.
func (s *Pool) Close() {
	for _, b := range s.backends {
		b.close()
	}
}

// Timeout returns the time limit of a query whose work is not limited.
func (s *Pool) Timeout() time.Duration { return cmp.Or(s.options.Timeout, time.Minute) }

// Notice calls Options.Notice with a line of text.
func (s *Pool) Notice(text string) {
	if s.options.Notice != nil {
		s.options.Notice(text)
	}
}

// Solvers returns the names of the solvers in use, in a fixed order.
func (s *Pool) Solvers() []string {
	return lists.Map(s.backends, func(b *backend) string { return b.name })
}

// Versions returns the version of each solver in use, in the order of Solvers. It
// starts workers where none has started yet; the error is why one cannot.
func (s *Pool) Versions() ([]string, error) {
	versions := make([]string, len(s.backends))
	for i, b := range s.backends {
		if err := b.probe(); err != nil {
			return nil, err
		}
		versions[i] = b.version
	}
	return versions, nil
}

// Solve asks all solvers in parallel, returns the first answer and stops the
// others. Unless the formula's preferences determine the model, it may differ from
// run to run. If every solver met a limit, the answer is Timeout. The error is
// ctx's or f.Err's, or joins the *SolverErrors if no solver answered; the fault of
// one solver where another answers is a notice.
func (s *Pool) Solve(ctx context.Context, f *constraints.Formula) (Answer, error) {
	return s.solve(ctx, f, s.backends, s.Timeout(), 0, false)
}

// SolveInOrder asks one solver after another, always in the same order, and goes on
// only if one met a limit or failed. Solvers named in first are asked before the
// others. The results are those of Solve.
func (s *Pool) SolveInOrder(ctx context.Context, f *constraints.Formula, first ...string) (Answer, error) {
	return s.solve(ctx, f, s.inOrder(first), s.Timeout(), 0, true)
}

// SolveWithin is SolveInOrder with a limit on the work of each solver, at least a
// microsecond, so that the answer is the same on every machine. A time limit that was
// asked for applies too: see Answer.Counted. Errors are SolveInOrder's.
func (s *Pool) SolveWithin(ctx context.Context, work time.Duration, f *constraints.Formula, first ...string) (Answer, error) {
	if err := checkWork(work); err != nil {
		return Answer{}, err
	}
	return s.solve(ctx, f, s.inOrder(first), cmp.Or(s.options.Timeout, patience), work, true)
}

func (s *Pool) inOrder(first []string) []*backend {
	order := slices.Clone(s.backends)
	slices.SortStableFunc(order, func(a, b *backend) int {
		return orderOf(first, a.name) - orderOf(first, b.name)
	})
	return order
}

// orderOf returns a name's position in a list, or the list's length if it is not
// there.
func orderOf(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

// loserGrace is how long the other solvers may take to finish after one has
// answered: keeping a worker is cheaper than starting a new one.
const loserGrace = 100 * time.Millisecond

func (s *Pool) solve(ctx context.Context, f *constraints.Formula, backends []*backend, limit, work time.Duration, inOrder bool) (Answer, error) {
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	if len(backends) == 0 {
		return Answer{}, errors.New("no solver is open")
	}
	start := time.Now()
	type result struct {
		Answer
		err error
	}
	results := make(chan result, len(backends))
	race, cancel := context.WithCancel(ctx)
	ask := func(b *backend) {
		a, err := b.ask(race, f, limit, work)
		results <- result{a, err}
	}
	if !inOrder {
		for _, b := range backends {
			go ask(b)
		}
	}
	var limited *Answer
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
			limited = &r.Answer
			continue
		}
		time.AfterFunc(loserGrace, cancel)
		for _, fault := range faults {
			s.options.Notice(fmt.Sprintf("%s: %s answered instead", firstLine(fault), r.By))
		}
		r.Seconds = time.Since(start).Seconds()
		return r.Answer, nil
	}
	cancel()
	if limited != nil {
		for _, fault := range faults {
			s.options.Notice(firstLine(fault))
		}
		limited.Seconds = time.Since(start).Seconds()
		return *limited, nil
	}
	return Answer{}, errors.Join(faults...)
}
