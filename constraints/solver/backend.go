package solver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/z3"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// backend manages the worker processes of one solver.
type backend struct {
	name    string
	worker  string // name of the child process
	memory  int64  // cap of a worker, in bytes
	version string // empty until a worker has started

	mu     sync.Mutex
	closed bool
	idle   []*worker
	busy   map[*worker]bool
	asked  uint64 // number of the last question
}

// worker is a child process. It serves one query at a time.
type worker struct {
	*child.Process
	answered int // questions
}

// questionsPerWorker is the number of questions after which a worker is replaced,
// because libz3 does not return all of its memory.
const questionsPerWorker = 200

func newBackend(name string, memory int64) *backend {
	return &backend{name: name, worker: workerName(name), memory: memory, busy: map[*worker]bool{}}
}

// helloTimeout is how long a worker may take to start.
const helloTimeout = 20 * time.Second

// probe starts a worker, if none is idle, and returns why it cannot.
func (b *backend) probe() error {
	if b.name == "z3" && os.Getenv(z3.Variable) == "off" {
		return z3.ErrOff
	}
	w, err := b.acquire(context.Background())
	if err == nil {
		b.release(w)
	}
	return err
}

func (b *backend) fault(f Fault, detail string) *SolverError { return &SolverError{b.name, f, detail} }

var errClosed = errors.New("solvers are closed")

// acquire returns an idle worker, or a new one that has said hello. The caller must
// release or drop it.
func (b *backend) acquire(ctx context.Context) (*worker, error) {
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
	w, err := b.start(ctx)
	if killedByGroupSignal(err) {
		w, err = b.start(ctx)
	}
	return w, err
}

// killedByGroupSignal reports whether a worker died, before its hello, of a signal
// that terminals send to whole process groups. For a moment a new process is still
// in our group, so that Ctrl-C reaches it too. That is no fault of the solver.
func killedByGroupSignal(err error) bool {
	var f *SolverError
	return errors.As(err, &f) && f.Fault == Died && groupSignalDetail().MatchString(f.Detail)
}

var groupSignalDetail = lazyregexp.New("^" + beforeHello + "signal: (interrupt|terminated|hangup)")

// beforeHello begins the Detail of a worker that died before it was ready.
const beforeHello = "before its first word: "

// start starts a worker and waits until it is ready.
func (b *backend) start(ctx context.Context) (*worker, error) {
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
	wait, cancel := context.WithTimeout(ctx, helloTimeout)
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
		return nil, b.fault(Died, describeExit(beforeHello+w.State(), w.Tail()))
	}
	return nil, b.fault(Garbled, fmt.Sprintf("its first word: %v (does main call child.Dispatch first?)", err))
}

// release makes a worker idle again, or ends it after questionsPerWorker questions.
func (b *backend) release(w *worker) {
	b.mu.Lock()
	keep := !b.closed && w.answered < questionsPerWorker
	if keep {
		delete(b.busy, w)
		b.idle = append(b.idle, w)
	}
	b.mu.Unlock()
	if !keep {
		b.drop(w)
	}
}

func (b *backend) drop(w *worker) {
	w.Kill()
	b.mu.Lock()
	delete(b.busy, w)
	b.mu.Unlock()
}

func (b *backend) close() {
	b.mu.Lock()
	b.closed = true
	all := slices.AppendSeq(b.idle, maps.Keys(b.busy))
	b.idle = nil
	b.mu.Unlock()
	for _, w := range all {
		w.Kill()
	}
}

// answerGrace is how long after its time limit a worker may take to report that it
// met the limit. Then it is killed.
const answerGrace = 500 * time.Millisecond

// ask asks one question. The error is ctx's or a *SolverError.
func (b *backend) ask(ctx context.Context, f *constraints.Formula, limit, work time.Duration) (Answer, error) {
	w, err := b.acquire(ctx)
	if err != nil {
		return Answer{}, err
	}
	a, usable, err := b.exchange(ctx, w, f, question{limit: limit, work: work})
	if usable {
		b.release(w)
	}
	return a, err
}

// exchange sends a question to a worker and reads the answer. usable reports whether
// the worker can take another question; otherwise it has been dropped. The error is
// ctx's or a *SolverError.
func (b *backend) exchange(ctx context.Context, w *worker, f *constraints.Formula, q question) (a Answer, usable bool, err error) {
	b.mu.Lock()
	b.asked++
	q.id = b.asked
	b.mu.Unlock()
	wait, cancel := context.WithTimeout(ctx, q.limit+answerGrace)
	defer cancel()
	stop := context.AfterFunc(wait, w.Kill) // also unblocks a Send
	err = w.Send(appendQuestion(nil, f, q))
	var frame []byte
	if err == nil {
		frame, err = w.Receive(wait, f.Variables()/8+1<<16)
	}
	if !stop() || err != nil { // killed, or in an unknown state
		b.drop(w)
	}
	switch {
	case ctx.Err() != nil:
		return Answer{}, false, ctx.Err()
	case err != nil && wait.Err() != nil:
		return Answer{Status: Timeout, By: b.name, Detail: fmt.Sprintf("no answer within %v", q.limit)}, false, nil
	case errors.Is(err, child.ErrEnded):
		if w.OutOfMemory() {
			return b.outOfMemory(), false, nil
		}
		return Answer{}, false, b.fault(Died, describeExit(w.State(), w.Tail()))
	case err != nil:
		return Answer{}, false, b.fault(Garbled, err.Error())
	}
	w.answered++
	a, fault := b.checkAnswer(f, frame, q)
	if fault != nil && fault.Fault != Refused {
		b.drop(w)
		return Answer{}, false, fault
	}
	usable = wait.Err() == nil
	if fault != nil {
		return Answer{}, usable, fault
	}
	return a, usable, nil
}

func (b *backend) outOfMemory() Answer {
	return Answer{Status: Timeout, By: b.name, Detail: fmt.Sprintf("out of memory at %d MiB", b.memory>>20)}
}

// checkAnswer decodes an answer and checks its model.
func (b *backend) checkAnswer(f *constraints.Formula, frame []byte, q question) (Answer, *SolverError) {
	r, err := readAnswer(frame)
	if err == nil && r.id != q.id {
		err = fmt.Errorf("an answer to question %d, not %d", r.id, q.id)
	}
	if err != nil {
		return Answer{}, b.fault(Garbled, err.Error())
	}
	a := Answer{By: b.name, Work: r.work, Counted: true}
	switch r.says {
	case saysSat:
		if err := f.Check(r.model); err != nil {
			return Answer{}, b.fault(Lied, err.Error())
		}
		a.Status, a.Model = Sat, r.model
	case saysUnsat:
		a.Status = Unsat
	case saysTimeout:
		a.Status, a.Detail, a.Counted = Timeout, "its time limit", false
	case saysWork:
		a.Status, a.Detail = Timeout, fmt.Sprintf("no answer within %v of work", q.work)
	case saysMemory:
		a = b.outOfMemory()
	default:
		return Answer{}, b.fault(Refused, r.detail)
	}
	return a, nil
}

// describeExit joins how a process ended with the last output it wrote, shortened.
func describeExit(state, tail string) string {
	tail = strings.TrimSpace(tail)
	if len(tail) > 2000 {
		tail = tail[:2000] + "…"
	}
	if tail == "" {
		return state
	}
	return state + "\n" + tail
}
