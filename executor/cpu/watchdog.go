package cpu

import (
	"fmt"
	"strings"
	"time"
)

// watchEvery is the time between two looks of the watchdog.
const watchEvery = 50 * time.Millisecond

// maxNamed is how many stuck threadblocks an error names.
const maxNamed = 8

// watchdog detects deadlocks. It looks twice. If both times every threadblock sleeps over
// an event that has not come, and none has made progress in between, then none ever will:
// a threadblock is only woken by another's progress, which would have been counted. No
// clock decides, so a slow machine is never taken for a deadlock. A finished iteration
// stands still too, so check for its end before every look.
type watchdog struct {
	progress uint64
	stuck    bool
}

// look returns an error if the run is deadlocked.
func (w *watchdog) look(r *run, iteration int) error {
	still, progress := r.still()
	again := still && w.stuck && progress == w.progress
	w.stuck, w.progress = still, progress
	if !again {
		return nil
	}
	return fmt.Errorf("deadlock in iteration %d: %s", iteration, r.places())
}

// still reports whether all threadblocks have finished or sleep over an event that has not
// come, and returns the sum of their progress.
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

// places lists the threadblocks that wait in the middle of an iteration, with the events
// they wait for; "" if none does.
func (r *run) places() string {
	var all []string
	waiting := 0
	for _, b := range r.blocks {
		b.mu.Lock()
		if b.waiting != nil && b.reason != forStart {
			if waiting++; waiting <= maxNamed {
				all = append(all, b.waitsAt())
			}
		}
		b.mu.Unlock()
	}
	if more := waiting - maxNamed; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// waitsAt describes where a threadblock waits, and for which event.
func (b *block) waitsAt() string {
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
