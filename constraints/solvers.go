package constraints

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/colltune/colltune/constraints/z3"
	"github.com/colltune/colltune/internal/child"
)

// Options is which solvers to use and what they may take.
type Options struct {
	// Solver is auto (the default), z3 or pb. With auto both are used, or pb
	// alone where libz3 can't be loaded.
	Solver string
	// Timeout is a query's; 0 is a minute.
	Timeout time.Duration
	// MemoryCap is what a worker may allocate, in bytes; 0 is 2 GiB.
	MemoryCap int64
	// Notice is told, in one line, what a user should know: that libz3 is
	// missing, that a solver failed. Nil tells nobody.
	Notice func(string)
}

// Names are the values of Options.Solver.
var Names = []string{"auto", "z3", "pb"}

// Status is what a query came to.
type Status uint8

// The statuses.
const (
	Sat Status = iota
	Unsat
	Timeout // or the memory cap: a limit was met
)

var statusNames = [...]string{"sat", "unsat", "timeout"}

func (s Status) String() string { return statusNames[s] }

// Answer is a query's answer.
type Answer struct {
	Status  Status
	Model   []bool  // Sat: by variable; it has passed Formula.Check
	By      string  // the solver that gave it: z3, pb
	Seconds float64 // from question to answer, as it was waited for
	Detail  string  // Timeout: which limit
}

// Fault is what a solver did that none should.
type Fault string

// The faults.
const (
	Died    Fault = "died"
	Garbled Fault = "answered with garbage"
	Lied    Fault = "returned a wrong model"
	Refused Fault = "gave up"
)

// SolverError is a solver's fault: no answer came of it.
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

// UnavailableError is a solver that was asked for by name and can't be had here.
type UnavailableError struct {
	Solver string
	Err    error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("solver %s: %v", e.Solver, e.Err) }
func (e *UnavailableError) Unwrap() error { return e.Err }

// Solvers are worker processes that answer formulas. They start when first
// needed, live until Close, and are replaced when they fail. Safe for
// concurrent use: each query has a worker to itself.
type Solvers struct {
	options  Options
	backends []*backend // in their fixed order
}

// Open finds the solvers asked for. The error says what is wrong with the
// options, or why libz3 can't be had where it was asked for by name.
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

// Close ends all workers. Queries still running end with an error.
func (s *Solvers) Close() {
	for _, b := range s.backends {
		b.close()
	}
}

// Solvers lists the solvers in use, in their fixed order.
func (s *Solvers) Solvers() []string {
	names := make([]string, len(s.backends))
	for i, b := range s.backends {
		names[i] = b.name
	}
	return names
}

// Versions says which version each solver in use is, in the order of Solvers; it
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

// Solve asks all solvers at once and takes the first answer; the others are
// stopped. Which model that is may differ from run to run unless the formula's
// preferences settle it. A solver's fault is an error only where no other
// solver answers; else it is a notice.
func (s *Solvers) Solve(ctx context.Context, f *Formula) (Answer, error) {
	return s.solve(ctx, f, s.backends, false)
}

// SolveInOrder asks one solver after the other, always in the same order, and
// only goes on where one has met a limit or failed. The one named first, where
// it is in use, is asked first: the one that such formulas suit.
func (s *Solvers) SolveInOrder(ctx context.Context, f *Formula, first ...string) (Answer, error) {
	order := slices.Clone(s.backends)
	slices.SortStableFunc(order, func(a, b *backend) int {
		return place(first, a.name) - place(first, b.name)
	})
	return s.solve(ctx, f, order, true)
}

// place is a name's position in a list; those that are not in it come last.
func place(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

// SolveAll answers many formulas, each in order as SolveInOrder does, on at most
// the given number of workers at a time. The answers are in the formulas' order,
// whatever the workers. The first error ends it.
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

// stragglers is how long the slower solvers have to finish once one has
// answered: an idle worker is worth more than one to start again.
const stragglers = 100 * time.Millisecond

func (s *Solvers) solve(ctx context.Context, f *Formula, backends []*backend, inOrder bool) (Answer, error) {
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
		a, err := b.ask(race, f, s.options.Timeout)
		results <- result{a, err}
	}
	if !inOrder {
		for _, b := range backends {
			go ask(b)
		}
	}
	var limit *Answer
	var faults []error
	for _, b := range backends {
		if inOrder {
			ask(b)
		}
		r := <-results
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

// backend is one solver's workers.
type backend struct {
	name    string
	worker  string // the child's name
	memory  int64
	version string // once a worker has said hello

	mu     sync.Mutex
	closed bool
	idle   []*worker
	busy   map[*worker]bool
	asked  uint64 // questions, for their numbers
}

// worker is a child process and how much it has done.
type worker struct {
	*child.Process
	answered int
}

// recycle is how many questions a worker answers before it is replaced: libz3
// never gives all of its memory back.
const recycle = 200

func newBackend(name string, memory int64) *backend {
	return &backend{name: name, worker: workerName(name), memory: memory, busy: map[*worker]bool{}}
}

// hello is how long a worker may take to start.
const hello = 20 * time.Second

// probe makes sure that a worker starts.
func (b *backend) probe() error {
	if b.name == "z3" && os.Getenv(z3.Variable) == "off" {
		return z3.ErrOff
	}
	w, err := b.take(context.Background())
	if err == nil {
		b.give(w)
	}
	return err
}

func (b *backend) fault(f Fault, detail string) *SolverError { return &SolverError{b.name, f, detail} }

var errClosed = errors.New("solvers are closed")

// take is an idle worker, or a new one that has said hello.
func (b *backend) take(ctx context.Context) (*worker, error) {
	b.mu.Lock()
	for len(b.idle) > 0 {
		w := b.idle[len(b.idle)-1]
		b.idle = b.idle[:len(b.idle)-1]
		if w.Alive() {
			b.busy[w] = true
			b.mu.Unlock()
			return w, nil
		}
	}
	b.mu.Unlock()
	p, err := child.Start(child.Options{Name: b.worker, Memory: b.memory})
	if err != nil {
		return nil, err
	}
	w := &worker{Process: p}
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.busy[w] = true
	}
	b.mu.Unlock()
	if closed {
		w.Kill()
		return nil, errClosed
	}
	wait, cancel := context.WithTimeout(ctx, hello)
	defer cancel()
	frame, err := p.Receive(wait, 1<<16)
	var refused error
	if err == nil {
		var version string
		if version, err, refused = readHello(frame); err == nil && refused == nil {
			b.mu.Lock()
			b.version = version
			b.mu.Unlock()
			return w, nil
		}
	}
	b.drop(w)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case refused != nil:
		return nil, refused
	case errors.Is(err, child.ErrEnded):
		return nil, b.fault(Died, join("before its first word: "+w.State(), w.Tail()))
	}
	return nil, b.fault(Garbled, fmt.Sprintf("its first word: %v (does main call child.Dispatch first?)", err))
}

// give puts a worker back.
func (b *backend) give(w *worker) {
	b.mu.Lock()
	keep := !b.closed && w.answered < recycle
	if keep {
		delete(b.busy, w)
		b.idle = append(b.idle, w)
	}
	b.mu.Unlock()
	if !keep {
		b.drop(w)
	}
}

// drop ends a worker for good.
func (b *backend) drop(w *worker) {
	w.Kill()
	b.mu.Lock()
	delete(b.busy, w)
	b.mu.Unlock()
}

func (b *backend) close() {
	b.mu.Lock()
	b.closed = true
	all := b.idle
	for w := range b.busy {
		all = append(all, w)
	}
	b.idle = nil
	b.mu.Unlock()
	for _, w := range all {
		w.Kill()
	}
}

// grace is how long past its limit a worker may take to say so itself.
const grace = 500 * time.Millisecond

// ask puts one question. The error is ctx's or a *SolverError.
func (b *backend) ask(ctx context.Context, f *Formula, limit time.Duration) (Answer, error) {
	w, err := b.take(ctx)
	if err != nil {
		return Answer{}, err
	}
	b.mu.Lock()
	b.asked++
	id := b.asked
	b.mu.Unlock()
	wait, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	stop := context.AfterFunc(wait, w.Kill) // also where a send blocks
	err = w.Send(appendQuestion(nil, f, id, limit))
	var frame []byte
	if err == nil {
		frame, err = w.Receive(wait, f.variables/8+1<<16)
	}
	if !stop() || err != nil { // killed, or of no more use
		b.drop(w)
	}
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case err != nil && wait.Err() != nil:
		return Answer{Status: Timeout, By: b.name, Detail: fmt.Sprintf("no answer within %v", limit)}, nil
	case errors.Is(err, child.ErrEnded):
		if w.OutOfMemory() {
			return b.outOfMemory(), nil
		}
		return Answer{}, b.fault(Died, join(w.State(), w.Tail()))
	case err != nil:
		return Answer{}, b.fault(Garbled, err.Error())
	}
	w.answered++
	a, fault := b.judge(f, frame, id)
	if fault != nil && fault.Fault != Refused {
		b.drop(w)
	} else if wait.Err() == nil {
		b.give(w)
	}
	if fault != nil {
		return Answer{}, fault
	}
	return a, nil
}

func (b *backend) outOfMemory() Answer {
	return Answer{Status: Timeout, By: b.name, Detail: fmt.Sprintf("out of memory at %d MiB", b.memory>>20)}
}

// judge reads an answer and believes none of it.
func (b *backend) judge(f *Formula, frame []byte, id uint64) (Answer, *SolverError) {
	r, err := readAnswer(frame)
	if err == nil && r.id != id {
		err = fmt.Errorf("an answer to question %d, not %d", r.id, id)
	}
	if err != nil {
		return Answer{}, b.fault(Garbled, err.Error())
	}
	a := Answer{By: b.name}
	switch r.says {
	case saysSat:
		if err := f.Check(r.model); err != nil {
			return Answer{}, b.fault(Lied, err.Error())
		}
		a.Status, a.Model = Sat, r.model
	case saysUnsat:
		a.Status = Unsat
	case saysTimeout:
		a.Status, a.Detail = Timeout, "its time limit"
	case saysMemory:
		a = b.outOfMemory()
	default:
		return Answer{}, b.fault(Refused, r.detail)
	}
	return a, nil
}

// join puts a process's last words after how it ended, cut to what a report
// bears.
func join(state, tail string) string {
	tail = strings.TrimSpace(tail)
	if len(tail) > 2000 {
		tail = tail[:2000] + "…"
	}
	if tail == "" {
		return state
	}
	return state + "\n" + tail
}
