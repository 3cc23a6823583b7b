package script

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/internal/child"
)

// worker evaluates a template in a child process. The process is started when it is
// needed, ends when it is idle, and is replaced after a function that could not be
// stopped. What it answers is checked, and its operations are traced here once more.
type worker struct {
	name   string // of the work that the process does
	file   string
	source ask // for the file to be loaded

	mu       sync.Mutex // held during an exchange
	process  *child.Process
	machine  *machineID // whose links the process knows, if it is known by itself
	used     time.Time
	idle     *time.Timer
	declared *declaration
	printed  []string // when the file was executed
}

const (
	idleTime   = 2 * time.Second // after which an idle process ends
	maxSilence = 5 * time.Minute // for which a process sends nothing; it stops itself long before
	maxRunning = 4               // processes, but for those at work
)

// LoadApart reads a template from src, the text of file name. It is executed in a child
// process, as its functions will be, with limits on memory and time as well as on steps
// and operations. The program's main must call child.Dispatch first. An error in the
// template is an *Error or several of them, with positions in src.
func LoadApart(name string, src []byte, o Options) (*Template, error) {
	return loadApart(name, src, o, usual)
}

func loadApart(name string, src []byte, o Options, l limits) (*Template, error) {
	w := workerOf(&ask{Function: "load", File: name, Source: slices.Clone(src), Library: o.Library, Limits: l})
	d, printed, err := w.load()
	if o.Print != nil {
		for _, text := range printed {
			o.Print(text)
		}
	}
	if err != nil {
		return nil, err
	}
	return newTemplate(name, d, o.Print, w), nil
}

// workers are those of templates in use, by what was loaded: a search loads its
// templates several times.
var workers = struct {
	sync.Mutex
	by      map[[sha256.Size]byte]*worker
	running []*worker // those with a process, the latest last
}{by: map[[sha256.Size]byte]*worker{}}

func workerOf(load *ask) *worker {
	text, err := json.Marshal(load)
	if err != nil {
		text = load.Source // strings and numbers: it can't fail
	}
	key := sha256.Sum256(text)
	workers.Lock()
	defer workers.Unlock()
	w := workers.by[key]
	if w == nil {
		w = newWorker(workerName, load)
		workers.by[key] = w
	}
	return w
}

func newWorker(name string, load *ask) *worker {
	w := &worker{name: name, file: load.File, source: *load}
	w.idle = time.AfterFunc(idleTime, func() {
		if w.rest(idleTime) {
			workers.Lock()
			defer workers.Unlock()
			maps.DeleteFunc(workers.by, func(_ [sha256.Size]byte, o *worker) bool { return o == w })
		}
	})
	return w
}

// started ends the process that was started first, if there are many now.
func (w *worker) started() {
	workers.Lock()
	workers.running = append(slices.DeleteFunc(workers.running, func(o *worker) bool { return o == w }), w)
	var first *worker
	if len(workers.running) > maxRunning {
		first, workers.running = workers.running[0], workers.running[1:]
	}
	workers.Unlock()
	if first != nil {
		first.rest(0)
	}
}

// rest ends the process if it has been idle for a time, and reports whether it has.
func (w *worker) rest(idle time.Duration) bool {
	if !w.mu.TryLock() {
		return false // the exchange sets the timer again
	}
	defer w.mu.Unlock()
	if left := idle - time.Since(w.used); left > 0 {
		w.idle.Reset(left)
		return false
	}
	w.stop()
	return true
}

func (w *worker) stop() {
	if w.process != nil {
		w.process.Kill()
		w.process, w.machine = nil, nil
	}
}

// load returns what the file declares, and what it prints.
func (w *worker) load() (*declaration, []string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.declared == nil {
		var printed []string
		e := &exchange{print: func(text string) { printed = append(printed, text) }}
		a, err := w.exchange(e, w.source)
		if err != nil {
			return nil, printed, err
		}
		if err := a.Declared.check(); err != nil {
			w.stop()
			return nil, nil, &Error{Pos: lang.Pos{File: w.file}, Msg: err.Error()}
		}
		w.declared, w.printed = a.Declared, printed
	}
	return w.declared, w.printed, nil
}

// call asks for a function's result.
func (w *worker) call(function string, c *call, e *exchange) (*answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := c.template.budget
	if err := b.spent(); err != nil {
		return nil, asError(w.file, err)
	}
	e.machine, e.print = c.machine, c.template.print
	a, err := w.exchange(e, ask{
		Function: function, GPUs: c.machine.GPUsPerNode, Linked: c.machine.Linked == nil,
		Request: c.request, Params: c.params, Budget: b.left(),
	})
	if a != nil {
		b.spend(a.Steps, 0)
	}
	return a, err
}

func (w *worker) evaluate(function string, c *call) (result, error) {
	a, err := w.call(function, c, &exchange{})
	if err != nil {
		return result{}, err
	}
	return a.result, nil
}

func (w *worker) trace(c *call) (*lang.Program, error) {
	e := &exchange{call: c}
	a, err := w.call("trace", c, e)
	if err != nil {
		return nil, err
	}
	if e.trace == nil {
		return nil, garbled(w.file)
	}
	e.trace.At(a.End)
	return finish(w.file, e.trace)
}

// garbled is the error about an answer that no child gives.
func garbled(file string) error {
	return &Error{Pos: lang.Pos{File: file}, Msg: "internal error: a garbled answer of the process that evaluates the template"}
}

// exchange is one request to the child, and what its frames are read with until the
// answer.
type exchange struct {
	machine Machine
	print   func(string)
	call    *call // of a trace

	trace    *lang.Trace
	at       lang.Pos // the last line it was known to be at
	printed  int      // messages so far
	repeated int      // messages of the first time, which the second time repeats
}

// lost is the error of an exchange that ended the child, or has to.
type lost struct{ why string }

func (e *lost) Error() string { return e.why }

// exchange asks, and handles what the child sends until its answer. If the child is
// lost, all is repeated once with the position of every line: a template does the same
// each time, and its user wants to know where that is.
func (w *worker) exchange(e *exchange, q ask) (*answer, error) {
	defer func() {
		w.used = time.Now()
		w.idle.Reset(idleTime)
	}()
	a, err := w.once(e, &q)
	var gone *lost
	if !errors.As(err, &gone) {
		return a, err
	}
	w.stop()
	q.Lines = true
	e.trace, e.printed, e.repeated = nil, 0, e.printed
	if a, err = w.once(e, &q); !errors.As(err, &gone) {
		return a, err
	}
	w.stop()
	refused := &Error{Pos: lang.Pos{File: w.file}, Msg: gone.why}
	if e.at.File != "" {
		refused.Pos = e.at
	}
	if w.declared != nil {
		refused.Msg = "family " + w.declared.Name + ": " + gone.why
	}
	return nil, refused
}

func (w *worker) once(e *exchange, q *ask) (*answer, error) {
	if w.process != nil && !w.process.Alive() {
		w.stop()
	}
	if w.process == nil {
		p, err := child.Start(child.Options{Name: w.name, Memory: w.source.Limits.memoryCap()})
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", w.file, err)
		}
		w.process = p
		w.started()
		if q.Function != "load" {
			if _, err := w.converse(&exchange{}, &w.source); err != nil {
				return nil, err
			}
		}
	}
	return w.converse(e, q)
}

// converse sends a question and handles the child's frames.
func (w *worker) converse(e *exchange, q *ask) (*answer, error) {
	q.Same = e.machine.id != nil && e.machine.id == w.machine
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if q.Function != "load" {
		w.machine = e.machine.id
	}
	if err := w.process.Send(text); err != nil {
		return nil, w.lost(e, err)
	}
	for {
		ctx, stop := context.WithTimeout(context.Background(), maxSilence)
		frame, err := w.process.Receive(ctx, maxFrame)
		stop()
		if err != nil {
			return nil, w.lost(e, err)
		}
		var a *answer
		if len(frame) == 0 {
			err = errGarbled
		} else {
			a, err = w.handle(e, frame[0], frame[1:])
		}
		switch {
		case errors.Is(err, errGarbled) || errors.Is(err, lang.ErrGarbled):
			w.stop()
			return nil, garbled(w.file)
		case err != nil: // of the program: the child goes on with it
			w.stop()
			return nil, err
		case a == nil:
			continue
		case a.Stuck && len(a.Errors) > 0:
			return nil, &lost{a.Errors[0].Msg}
		}
		return a, errorOf(w.file, a.Errors)
	}
}

var errGarbled = errors.New("garbled")

// handle handles a frame. It returns the answer, if it is that.
func (w *worker) handle(e *exchange, kind byte, body []byte) (*answer, error) {
	switch kind {
	case framePrint:
		if e.printed++; len(body) > maxPrint+len("…") {
			return nil, errGarbled
		}
		if e.print != nil && e.printed > e.repeated {
			e.print(string(body))
		}
	case frameLinks:
		return nil, w.links(e.machine, body)
	case frameAt:
		n, file, ok := numbers(body, 2)
		if !ok {
			return nil, errGarbled
		}
		e.at = lang.Pos{File: string(file), Line: n[0], Col: n[1]}
	case frameBegin:
		return nil, e.begin(body)
	case frameOps:
		if e.trace == nil {
			return nil, errGarbled
		}
		if err := e.trace.Replay(body); err != nil && !errors.Is(err, lang.ErrGarbled) {
			return nil, asError(w.file, err)
		} else {
			return nil, err
		}
	case frameAnswer:
		a := &answer{}
		if json.Unmarshal(body, a) != nil {
			return nil, errGarbled
		}
		return a, nil
	default:
		return nil, errGarbled
	}
	return nil, nil
}

// links tells the child which links a rank has.
func (w *worker) links(m Machine, body []byte) error {
	q, _, ok := numbers(body, 3)
	if !ok || m.Linked == nil || q[0] >= m.Ranks() || q[2] > maxLinks || q[1]+q[2] > m.Ranks() {
		return errGarbled
	}
	bits := make([]byte, (q[2]+7)/8)
	for i := range q[2] {
		if m.Linked(q[0], q[1]+i) {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return w.process.Send(bits)
}

// begin makes the trace that the operations are replayed to.
func (e *exchange) begin(body []byte) error {
	var b beginning
	if e.call == nil || e.trace != nil || json.Unmarshal(body, &b) != nil || b.Chunks < 1 || b.Chunks > maxChunks {
		return errGarbled
	}
	if (b.Table != nil) != e.call.template.Defines(e.call.request.Collective) {
		return errGarbled
	}
	coll, err := e.call.collective(b.Chunks, b.Table)
	if err != nil {
		return err
	}
	e.trace = e.call.newTrace(coll)
	if linked := e.machine.Linked; linked != nil {
		e.trace.SetLinked(linked)
	}
	return nil
}

// lost says how the child was lost. All that is known of where it was is where its last
// operation is.
func (w *worker) lost(e *exchange, err error) error {
	p := w.process
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &lost{fmt.Sprintf("not done after %v", maxSilence)}
	case p.OutOfMemory():
		ops := 0
		if e.trace != nil {
			ops = e.trace.Len()
		}
		return &lost{tooMuchMemory(w.source.Limits.Memory + bytesPerOp*int64(ops))}
	}
	said, _, _ := strings.Cut(strings.TrimSpace(p.Tail()), "\n")
	return &lost{strings.TrimSuffix(fmt.Sprintf("the process that evaluates it ended (%s): %s", p.State(), said), ": ")}
}
