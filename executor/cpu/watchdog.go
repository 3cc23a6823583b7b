package cpu

import (
	"fmt"
	"strings"
	"time"
)

// watchEvery is how often the threadblocks are looked at.
const watchEvery = 50 * time.Millisecond

// mostNamed is how many stuck threadblocks an error names.
const mostNamed = 8

// watchdog finds a run that will never end: twice in a row, every threadblock
// sleeps over something that has not come, and between the two looks none has
// done anything. Then none ever will: a threadblock is only woken by another's
// doing, which would have been counted. No clock decides, so a slow machine
// makes no deadlock. An iteration that has ended stands still as well: its end
// must be asked for before every look.
type watchdog struct {
	progress uint64
	stuck    bool
}

// look is an error where the run stands still for good.
func (w *watchdog) look(r *run, iteration int) error {
	still, progress := r.still()
	again := still && w.stuck && progress == w.progress
	w.stuck, w.progress = still, progress
	if !again {
		return nil
	}
	return fmt.Errorf("deadlock in iteration %d: %s", iteration, r.places())
}

// still tells whether all threadblocks sleep over something that has not come, or
// are through, and how much they have done.
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

// places says who waits for what in the middle of an iteration; nothing where
// nobody does.
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

// standing says where a threadblock stands, and what for.
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
