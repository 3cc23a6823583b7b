package memory

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/colltune/colltune/internal/units"
)

// Exceeded reports that a command has used more memory than it may.
type Exceeded struct{ Used, Limit int64 }

func (e *Exceeded) Error() string {
	return fmt.Sprintf("out of memory: %v in use, with executors and solvers, and the limit is %v (--memory sets another)", units.Bytes(e.Used>>20<<20), units.Bytes(e.Limit))
}

// look is how often memory is looked at.
const look = 100 * time.Millisecond

// leastHeap is what Go's collector is left to work with, in bytes, whatever the other
// processes use.
const leastHeap = 64 << 20

// leaving is how long a command may take to end, once it was told to, before the
// process does.
const leaving = 10 * time.Second

// Guard watches over this process and its descendants until stop is called. over is
// called once, when they use more than limit bytes although garbage was collected.
// If then they use a quarter more, or stop is not called soon, gone is called. The
// closer they come to the limit, the more eagerly garbage is collected.
func Guard(limit int64, over, gone func(*Exceeded)) (stop func()) {
	return guard(limit, inUse, over, gone)
}

// guard is Guard with a function that says what this process, and what others of it,
// use.
func guard(limit int64, use func() (own, others int64), over, gone func(*Exceeded)) (stop func()) {
	before := debug.SetMemoryLimit(-1)
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		var told time.Time
		for {
			own, others := use()
			debug.SetMemoryLimit(min(max(limit-limit/8-others, leastHeap), before))
			if own+others > limit && told.IsZero() {
				debug.FreeOSMemory()
				own, others = use()
			}
			e := &Exceeded{own + others, limit}
			switch {
			case told.IsZero() && e.Used > limit:
				told = time.Now()
				over(e)
			case !told.IsZero() && (e.Used > limit+limit/4 || time.Since(told) > leaving):
				gone(e)
				return
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
		debug.SetMemoryLimit(before)
	}
}
