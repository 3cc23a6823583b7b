package script

import (
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/lang"
)

// A template is other people's code. It runs on a thread of its own with a
// watchman, under limits that depend on what it gets done:
//
//   - idleSteps steps of the interpreter, and stepsPerOp more for every
//     operation traced: a loop that does nothing stops within about a second,
//     a program over 2,048 ranks is not in the way of it;
//   - operations in proportion to the chunks of the problem (opLimit);
//   - values: their sizes, and the elements of all of them (guard.go).
//
// These are counted, and stop the same program at the same place every time.
// For what escapes them there are heapGrowth, of the whole process beyond what
// the traced operations take, and a deadline.
const (
	idleSteps   = 30_000_000
	stepsPerOp  = 500
	idleOps     = 1 << 18
	opsPerChunk = 64
	bytesPerOp  = 512
	watchEvery  = 20 * time.Millisecond
	maxSource   = 256 << 10 // bytes of a template
	maxRange    = 1 << 22   // elements of a range
	maxRanks    = 1 << 16
	maxChunks   = 1 << 24 // chunks a template may cut its unit into
)

// limits are those that tests need smaller.
type limits struct {
	made       int // elements of all strings and lists
	heapGrowth int64
	deadline   time.Duration
	grace      time.Duration // from being stopped to being left behind
}

var usual = limits{made: 1 << 24, heapGrowth: 4 << 30, deadline: 5 * time.Minute, grace: 2 * time.Second}

// opLimit is how many operations a program over so many chunks, of all ranks
// together, may have.
func opLimit(chunks int) int {
	return min(lang.MaxOps, idleOps+opsPerChunk*min(chunks, lang.MaxOps))
}

// session is one execution of a template's code: what its builtins work on.
type session struct {
	file    string
	limits  limits
	machine Machine
	unit    int // chunks an index pair steps over, 0 where there is no such
	trace   *lang.Trace
	opLimit int
	made    int          // elements of the values made so far
	ops     atomic.Int64 // operations traced so far, for the watchman
	broken  error        // told at the next operation
	declare *declaration // set while the template's file itself is executed
}

const sessionKey = "session"

func sessionOf(th *starlark.Thread) *session { return th.Local(sessionKey).(*session) }

// run executes f on a thread of its own, under the limits. Where f cannot be
// stopped it is left behind: it holds nothing that is used again.
func run(s *session, printTo func(string), f func(*starlark.Thread) error) error {
	th := &starlark.Thread{Name: s.file, Print: func(_ *starlark.Thread, msg string) {
		if printTo != nil {
			printTo(msg)
		}
	}}
	th.SetLocal(sessionKey, s)
	th.SetMaxExecutionSteps(idleSteps)
	th.OnMaxSteps = func(th *starlark.Thread) {
		allowed := idleSteps + stepsPerOp*uint64(s.ops.Load())
		if th.ExecutionSteps() >= allowed {
			th.Cancel(fmt.Sprintf("too many steps: %d of the interpreter for %d chunk operations (an endless loop?)", th.ExecutionSteps(), s.ops.Load()))
		}
		th.SetMaxExecutionSteps(allowed)
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("internal error: %v\n%s", p, debug.Stack())
			}
		}()
		done <- f(th)
	}()
	return asError(s.file, watch(s, th, done))
}

var errLeft = errors.New("the template could not be stopped")

// watch waits for the end of an execution and cancels it where it goes over
// the memory it may take or the time.
func watch(s *session, th *starlark.Thread, done <-chan error) error {
	start, base := time.Now(), liveHeap()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var cancelled time.Time
	why := ""
	for {
		select {
		case err := <-done:
			return err
		case now := <-tick.C:
			switch {
			case !cancelled.IsZero():
				if now.Sub(cancelled) > s.limits.grace {
					return fmt.Errorf("%s: %w", why, errLeft)
				}
				continue
			case liveHeap()-base > s.limits.heapGrowth+bytesPerOp*s.ops.Load():
				why = fmt.Sprintf("more than %d MiB of memory taken", s.limits.heapGrowth>>20)
			case now.Sub(start) > s.limits.deadline:
				why = fmt.Sprintf("not done after %v", s.limits.deadline)
			default:
				continue
			}
			th.Cancel(why)
			cancelled = now
		}
	}
}

// liveHeap is the bytes of the heap that the last collection left.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
