package script

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// A template's functions run under limits that depend on their progress:
//
//   - a number of steps of the interpreter, stepsPerPair more for every two ranks,
//     since programs examine their links, stepsPerChunk for every chunk of the
//     problem, up to mostChunks, and stepsPerOp for every operation traced. So an
//     idle loop stops within a tenth of a second, but a program over 2,048 ranks
//     runs. Calls that do much, and messages printed, count as several steps;
//   - operations in proportion to the chunks of the problem (opLimit);
//   - steps of all runs together, if there is a budget (budget.go).
//
// These limits are deterministic: they stop a program at the same place every
// time. A single step may still take any memory or time: an operator, a comparison or
// a conversion to text may go through values that hold one another a million times.
// So a user's template runs in a child process, where a watch stops it at
//
//   - an amount of memory, and bytesPerOp for each operation traced;
//   - processor time: a fixed part, stepTime for each allowed step and chunkTime for
//     each chunk of the problem, all many times the usual.
//
// What does not stop within the grace is left to itself, and the process ends; so it
// does when it has half as much memory again (memoryCap). On Linux the kernel refuses it
// more address space than twice that, and some slack.
//
// Measured: built-in families take less than 600,000 steps before their first
// operation on up to 72 ranks, and less than 130 million on 2,048; after that,
// less than 90 steps an operation. They have less than 3 operations a chunk,
// except for at most two for every two ranks that pass a buffer of one chunk
// around.
const (
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
	maxList       = 1 << 18 // places of a row; the longest of a family, over 2,048 ranks, has 22,528
	chunksPerStep = 8       // chunks that an operation moves in the time of a step
	printSteps    = 1000    // of a message printed
	maxPrint      = 1 << 16 // bytes of a message printed
	maxRanks      = 1 << 16
	maxChunks     = 1 << 24 // of the unit, which a template divides into chunks
)

// MaxSource is the largest size of a template's file, in bytes.
const MaxSource = 256 << 10

// limits are the limits that tests lower.
type limits struct {
	Steps     uint64        // of a run, beyond what the machine and the operations allow
	Memory    int64         // bytes, beyond what the operations allow
	Processor time.Duration // beyond what the steps allow
	Grace     time.Duration // between stopping a run and abandoning it
}

var usual = limits{Steps: 4_000_000, Memory: 1 << 30, Processor: 200 * time.Millisecond, Grace: 300 * time.Millisecond}

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
	return s.limits.Steps + stepsPerPair*uint64(s.pairs()) + stepsPerChunk*uint64(chunks) + stepsPerOp*uint64(s.ops.Load())
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

func (s *session) time() time.Duration {
	return s.limits.Processor + time.Duration(s.steps())*stepTime + time.Duration(s.chunks)*chunkTime
}

const sessionKey = "session"

func countSteps(th *starlark.Thread, steps int) { th.Steps += uint64(steps) }

func sessionOf(th *starlark.Thread) *session { return th.Local(sessionKey).(*session) }

// run executes f on a Starlark thread, under the limits. In a child, memory and time
// are watched, and if f can't be stopped, it is abandoned: nothing that it holds is
// used again.
func run(s *session, printTo func(string), f func(*starlark.Thread) error) error {
	if err := s.budget.spent(); err != nil {
		return asError(s.file, err)
	}
	th := &starlark.Thread{Name: s.file, Print: func(th *starlark.Thread, msg string) {
		if len(msg) > maxPrint {
			msg = strings.ToValidUTF8(msg[:maxPrint], "") + "…"
		}
		countSteps(th, printSteps+len(msg)/16)
		if printTo != nil {
			printTo(msg)
		}
	}}
	th.SetLocal(sessionKey, s)
	th.OnMaxSteps = s.checkSteps
	th.SetMaxExecutionSteps(s.nextCheck(th))
	done := make(chan error, 1)
	execute := func(clock func() time.Duration) {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
			}
		}()
		start := clock()
		err := f(th)
		s.budget.spend(th.ExecutionSteps(), clock()-start)
		done <- err
	}
	if s.parent == nil {
		execute(func() time.Duration { return 0 })
		return asError(s.file, <-done)
	}
	clock := make(chan func() time.Duration, 1)
	go func() {
		runtime.LockOSThread() // so that its processor time can be measured
		defer runtime.UnlockOSThread()
		used := processorClock()
		clock <- used
		execute(used)
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
			if err := s.parent.conn.RaiseMemory(s.limits.memoryCap() + bytesPerOp*s.ops.Load()); err != nil {
				return err
			}
			switch {
			case !cancelled.IsZero():
				if now.Sub(cancelled) > s.limits.Grace {
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

func (s *session) memory() int64 { return s.limits.Memory + bytesPerOp*s.ops.Load() }

// memoryCap returns the bytes beyond which a process ends: it may need more than the
// limit before it is found to be over it.
func (l *limits) memoryCap() int64 { return l.Memory + l.Memory/2 }

func tooMuchMemory(bytes int64) string {
	return fmt.Sprintf("more than %d MiB of memory taken", bytes>>20)
}

// liveHeap returns the size of the heap after the last garbage collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
