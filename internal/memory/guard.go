package memory

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/internal/units"
)

// Exceeded reports that a command has used more memory than its limit.
type Exceeded struct{ Used, Limit int64 } // in bytes

// Error gives both in binary units.
func (e *Exceeded) Error() string {
	return fmt.Sprintf("out of memory: %v in use, with executors and solvers, and the limit is %v (--memory sets another)", units.Bytes(e.Used>>20<<20), units.Bytes(e.Limit))
}

// interval is the time between two checks of memory.
const interval = 100 * time.Millisecond

// leastHeap is the least limit, in bytes, given to Go's collector, whatever the other
// processes use.
const leastHeap = 64 << 20

// endTimeout is how long a command may take to end between the calls of over and gone.
const endTimeout = 10 * time.Second

// Guard watches the memory of this process and its descendants until stop is called.
// It calls over once, when they use more than limit bytes although garbage was
// collected. If they then use a quarter more, or stop is not called within 10 s, it
// calls gone. The closer they come to the limit, the more eagerly garbage is collected.
func Guard(limit int64, over, gone func(*Exceeded)) (stop func()) {
	return guard(limit, child.Usage, over, gone)
}

// guard is Guard with a function that returns the bytes in use by this process and by
// its descendants.
func guard(limit int64, use func() (own, others int64), over, gone func(*Exceeded)) (stop func()) {
	before := debug.SetMemoryLimit(-1)
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(interval)
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
			case !told.IsZero() && (e.Used > limit+limit/4 || time.Since(told) > endTimeout):
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
