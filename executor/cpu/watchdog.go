package cpu

import (
	"fmt"
	"strings"
	"time"
)

// watchEvery is how often the watchdog looks at the threadblocks.
const watchEvery = 50 * time.Millisecond

// mostNamed is how many stuck threadblocks an error names.
const mostNamed = 8

// watchdog finds out that a run will never end. It looks twice. If both times
// every threadblock sleeps over something that has not come, and none has done
// anything in between, then none ever will: a threadblock is only woken by what
// another does, which would have been counted. No clock decides, so a slow machine
// is never taken for a deadlock. After its end an iteration stands still as well,
// so ask for the end before every look.
type watchdog struct {
	progress uint64
	stuck    bool
}

// look is an error if the run will never go on.
func (w *watchdog) look(r *run, iteration int) error {
	still, progress := r.still()
	again := still && w.stuck && progress == w.progress
	w.stuck, w.progress = still, progress
	if !again {
		return nil
	}
	return fmt.Errorf("deadlock in iteration %d: %s", iteration, r.places())
}

// still reports whether all threadblocks have finished or sleep over something that
// has not come, and how much they have done so far.
func (r *run) still() (bool, uint64) {
	still := true
	for _, b := range r.blocks {
		b.mu.Lock()
		if !b.through && (b.waiting == nil || b.waiting.reached(b.want)) {
			still = false
		}
		b.mu.Unlock()
	}
	progress := uint64(0)
	for _, b := range r.blocks {
		progress += b.progress.Load()
	}
	return still, progress
}

// places says which threadblocks wait for what, in the middle of an iteration;
// empty if none does.
func (r *run) places() string {
	var all []string
	waiting := 0
	for _, b := range r.blocks {
		b.mu.Lock()
		if b.waiting != nil && b.reason != forStart {
			if waiting++; waiting <= mostNamed {
				all = append(all, b.standing())
			}
		}
		b.mu.Unlock()
	}
	if more := waiting - mostNamed; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// standing says where a threadblock is, and what it waits for.
func (b *block) standing() string {
	place := b.place.Load()
	tile, step := place>>32, uint32(place)
	what := ""
	switch b.reason {
	case forStep:
		what = fmt.Sprintf("threadblock %d step %d", b.dep.TB, b.dep.Step)
	case forMessage:
		what = fmt.Sprintf("a message from rank %d on channel %d", b.tb.Recv, b.tb.Channel)
	case forSlot:
		what = fmt.Sprintf("a free slot to rank %d on channel %d", b.tb.Send, b.tb.Channel)
	}
	return fmt.Sprintf("rank %d threadblock %d tile %d step %d (%s) waits for %s", b.rank.id, b.id, tile, step, b.tb.Steps[step].Op, what)
}
