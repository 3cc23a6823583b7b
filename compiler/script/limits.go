package script

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// A template is untrusted code. It runs on a thread of its own, with a monitor,
// under limits that depend on its progress:
//
//   - idleSteps steps of the interpreter, stepsPerPair more for every two ranks,
//     since programs examine their links, stepsPerChunk for every chunk of the
//     problem, up to mostChunks, and stepsPerOp for every operation traced. So an
//     idle loop stops within a tenth of a second, but a program over 2,048 ranks
//     runs. An expensive step counts as several (weight.go);
//   - operations in proportion to the chunks of the problem (opLimit);
//   - values: their sizes, and the elements of all of them (weight.go);
//   - steps of all runs together, if there is a budget (budget.go).
//
// These limits are deterministic: they stop a program at the same place every
// time. Single steps that escape them are stopped by heapGrowth, the growth of
// the whole process beyond the traced operations, and by the thread's processor
// time: a fixed part, stepTime for each allowed step and chunkTime for each
// chunk of the problem, all many times the usual.
//
// Measured: built-in families take less than 600,000 steps before their first
// operation on up to 72 ranks, and less than 130 million on 2,048; after that,
// less than 90 steps an operation. They have less than 3 operations a chunk,
// except for at most two for every two ranks that pass a buffer of one chunk
// around.
const (
	idleSteps     = 4_000_000
	stepsPerPair  = 96
	stepsPerChunk = 8
	mostChunks    = 1 << 22
	stepsPerOp    = 200
	stepTime      = 60 * time.Nanosecond
	chunkTime     = 40 * time.Nanosecond
	idleOps       = 1 << 15
	opsPerPair    = 16
	opsPerChunk   = 16
	idleScratch   = 1 << 16
	idleChunks    = 1 << 16
	chunksPerPair = 8
	bytesPerOp    = 512
	watchEvery    = 20 * time.Millisecond
	maxRange      = 1 << 22 // elements of a range
	maxRanks      = 1 << 16
	maxChunks     = 1 << 24 // of the unit, which a template divides into chunks
)

// MaxSource is the largest size of a template's file, in bytes.
const MaxSource = 256 << 10

// limits are the limits that tests lower.
type limits struct {
	made       int // elements of all strings and lists
	heapGrowth int64
	processor  time.Duration // beyond what its steps allow
	grace      time.Duration // between stopping a run and abandoning it
}

var usual = limits{made: 1 << 20, heapGrowth: 1 << 30, processor: 200 * time.Millisecond, grace: 300 * time.Millisecond}

// session is one execution of a template's code, in which its builtins work.
type session struct {
	file     string
	limits   limits
	budget   *Budget // nil means none
	parent   *parent // nil unless this is a child
	machine  Machine
	own      map[string]collective.Buffer // named scratch buffers so far
	unit     int                          // chunks in a unit, for indices that are pairs; 0 if there are no units
	trace    *lang.Trace
	chunks   int                    // of the problem, for all ranks together
	made     int                    // elements of all values made so far
	ops      atomic.Int64           // operations traced so far, which the watchman reads
	progress func()                 // called after some operations, if there is one
	err      error                  // reported at the next operation
	stopped  atomic.Pointer[string] // the watchman's reason for stopping it
	declare  *declaration           // set while the template's file is executed
}

// pairs returns the number of pairs of ranks, up to the largest machine that
// programs can examine.
func (s *session) pairs() int {
	const most = 2048
	ranks := min(s.machine.Ranks(), most)
	return ranks * ranks
}

// steps returns the number of steps the session may take, given what it has
// traced so far.
func (s *session) steps() uint64 {
	chunks := min(s.chunks, mostChunks)
	return idleSteps + stepsPerPair*uint64(s.pairs()) + stepsPerChunk*uint64(chunks) + stepsPerOp*uint64(s.ops.Load())
}

// overLimit returns the reason why a number of steps is too large, or "".
func (s *session) overLimit(done uint64) string {
	switch allowed := s.steps(); {
	case done >= allowed:
		return fmt.Sprintf("too many steps: %d of the interpreter for %d chunk operations (an endless loop?)", done, s.ops.Load())
	case done >= s.budget.atMost(allowed):
		return s.budget.message()
	}
	return ""
}

// opLimit returns the number of operations the program may have. Since the
// template chooses the number of chunks, it counts at most the chunks that real
// programs have on that number of ranks.
func (s *session) opLimit() int {
	chunks := min(s.chunks, idleChunks+chunksPerPair*s.pairs())
	return min(lang.MaxOps, idleOps+opsPerPair*s.pairs()+opsPerChunk*chunks)
}

// scratchLimit returns the number of chunks of scratch a rank may have in each
// of its buffers, since a buffer is laid out up to its last chunk in use.
func (s *session) scratchLimit() int {
	return min(lang.MaxScratch, idleScratch+opsPerChunk*min(s.chunks, lang.MaxScratch))
}

// time returns the processor time that the session may take.
func (s *session) time() time.Duration {
	return s.limits.processor + time.Duration(s.steps())*stepTime + time.Duration(s.chunks)*chunkTime
}

const sessionKey = "session"

func sessionOf(th *starlark.Thread) *session { return th.Local(sessionKey).(*session) }

// run executes f on a Starlark thread, under the limits. In a child, memory and time
// are watched, and if f can't be stopped, it is abandoned: nothing that it holds is
// used again.
func run(s *session, printTo func(string), f func(*starlark.Thread) error) error {
	if err := s.budget.spent(); err != nil {
		return asError(s.file, err)
	}
	th := &starlark.Thread{Name: s.file, Print: func(_ *starlark.Thread, msg string) {
		if printTo != nil {
			printTo(msg)
		}
	}}
	th.SetLocal(sessionKey, s)
	th.OnMaxSteps = s.checkSteps
	th.SetMaxExecutionSteps(s.nextCheck(th))
	done := make(chan error, 1)
	execute := func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
			}
		}()
		err := f(th)
		s.budget.spend(th.ExecutionSteps())
		done <- err
	}
	if s.parent == nil {
		execute()
		return asError(s.file, <-done)
	}
	clock := make(chan func() time.Duration, 1)
	go func() {
		runtime.LockOSThread() // so that its processor time can be measured
		defer runtime.UnlockOSThread()
		clock <- processorClock()
		execute()
	}()
	return asError(s.file, watch(s, th, <-clock, done))
}

// checkSteps is called when the thread has taken as many steps as nextCheck said.
func (s *session) checkSteps(th *starlark.Thread) {
	if why := s.overLimit(th.ExecutionSteps()); why != "" {
		th.Cancel(why)
	}
	if s.tellsLines() {
		s.parent.at(position(th.CallFrame(0).Pos))
	}
	th.SetMaxExecutionSteps(s.nextCheck(th))
}

// nextCheck returns the number of steps at which they are checked: when they may be
// over the limit, or at each if the parent wants to know every line.
func (s *session) nextCheck(th *starlark.Thread) uint64 {
	if s.tellsLines() {
		return th.ExecutionSteps() + 1
	}
	return s.budget.atMost(s.steps())
}

func (s *session) tellsLines() bool { return s.parent != nil && s.parent.lines }

var errLeft = errors.New("the template could not be stopped")

// watch waits for an execution to end, and cancels it if it exceeds its memory or
// time.
func watch(s *session, th *starlark.Thread, clock func() time.Duration, done <-chan error) error {
	start, base := clock(), liveHeap()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var cancelled time.Time
	why := ""
	for {
		select {
		case err := <-done:
			return err
		case now := <-tick.C:
			if err := s.parent.conn.RaiseMemory(s.memory() + s.limits.heapGrowth/2); err != nil {
				return err
			}
			switch {
			case !cancelled.IsZero():
				if now.Sub(cancelled) > s.limits.grace {
					return fmt.Errorf("%s: %w", why, errLeft)
				}
				continue
			case liveHeap()-base > s.memory():
				why = tooMuchMemory(s.memory())
			case clock()-start > s.time():
				why = fmt.Sprintf("not done after %v of the processor's time, with %d chunk operations", (clock() - start).Round(time.Millisecond), s.ops.Load())
			default:
				continue
			}
			s.stopped.Store(&why)
			th.Cancel(why)
			cancelled = now
		}
	}
}

// memory returns the bytes that the session may take.
func (s *session) memory() int64 { return s.limits.heapGrowth + bytesPerOp*s.ops.Load() }

func tooMuchMemory(bytes int64) string {
	return fmt.Sprintf("more than %d MiB of memory taken", bytes>>20)
}

// liveHeap returns the size of the heap after the last garbage collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
