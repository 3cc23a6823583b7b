package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// completes runs the program with as few slots as possible and one call for
// each step, and records an order in which its steps can run.
func (c *checker) completes() {
	c.whole = newRun(c, math.MaxInt32)
	c.whole.order = make([]int32, 0, c.r.Steps)
	if circle := c.whole.finish(); circle != "" {
		c.r.findingAt(Deadlock, Error, -1, -1, -1, "%s", circle)
		return
	}
	c.order = c.whole.order
	c.pos = make([]int32, c.r.Steps)
	for i, s := range c.order {
		c.pos[s] = int32(i)
	}
}

// fits runs the program with one call for each chunk, and compares the slots
// that it needs with Options.Slots.
func (c *checker) fits() {
	whole, split := c.whole, c.whole
	if c.splits() {
		split = newRun(c, 1)
		split.finish()
	}
	if slices.ContainsFunc(c.from, func(send int32) bool { return send >= 0 }) {
		c.r.SlotsNeeded, c.r.SlotsNeededSplit = whole.slots, split.slots
	}
	judged, calls := split, "a call for each chunk"
	if n := c.o.CallChunks; n > 1 && split != whole {
		judged, calls = newRun(c, int32(min(n, math.MaxInt32))), fmt.Sprintf("a call for every %d chunks", n)
		judged.finish()
	}
	if split == whole {
		calls = "a call for each step"
	}
	if c.o.Slots > 0 && judged.slots > c.o.Slots {
		c.r.findingAt(Deadlock, Error, -1, -1, -1, "needs %d slots a connection where there are %d (with %s): %s",
			judged.slots, c.o.Slots, calls, judged.full)
	}
}

// splits reports whether any message has more than one chunk.
func (c *checker) splits() bool {
	for s, from := range c.from {
		if from >= 0 && c.step(int32(s)).Count > 1 {
			return true
		}
	}
	return false
}

// run executes the program's waits, without its data: each threadblock runs
// until it blocks, and is woken when the event it waits for may have happened.
// When all are blocked, every connection gets another slot.
type run struct {
	c          *checker
	callChunks int32 // chunks of a call
	slots      int
	full       string // the cycle of waits with Options.Slots slots, if they do not suffice

	// By threadblock.
	next  []int32 // its current step
	calls []int32 // calls made of that step
	sent  []int64 // calls on its send connection
	taken []int64 // calls received
	wait  []waiting
	dep   []int32 // dependencies of its current step known to be met
	need  []int32 // the step whose flag it waits for
	after []int32 // the next threadblock that waits for the same flag, or -1

	waiters []int32 // by step: the first threadblock that waits for its flag, or -1

	ready    []int32 // threadblocks to run
	slotless []int32 // threadblocks that were blocked for lack of a slot
	order    []int32 // steps completed, if recorded
}

// waiting is the reason why a threadblock is blocked.
type waiting uint8

const (
	forNothing waiting = iota
	forFlag
	forMessage
	forSlot
)

func newRun(c *checker, per int32) *run {
	n := len(c.tbGPU)
	r := &run{c: c, callChunks: per, slots: 1,
		next: make([]int32, n), calls: make([]int32, n), sent: make([]int64, n), taken: make([]int64, n),
		wait: make([]waiting, n), dep: make([]int32, n), need: make([]int32, n),
		after: make([]int32, n), waiters: fill(c.r.Steps, -1),
		ready: make([]int32, 0, n)}
	for t := n - 1; t >= 0; t-- {
		r.next[t] = c.first[t]
		r.ready = append(r.ready, int32(t))
	}
	return r
}

// finish runs to the end. If the program deadlocks, it describes the steps that
// wait for each other.
func (r *run) finish() (circle string) {
	for {
		for len(r.ready) > 0 {
			t := r.ready[len(r.ready)-1]
			r.ready = r.ready[:len(r.ready)-1]
			r.advance(t)
		}
		// Some have proceeded since, and some are listed more than once.
		slices.Sort(r.slotless)
		for _, t := range slices.Compact(r.slotless) {
			if r.wait[t] == forSlot {
				r.ready = append(r.ready, t)
			}
		}
		r.slotless = r.slotless[:0]
		if len(r.ready) == 0 {
			for t, w := range r.wait {
				if w != forNothing {
					return r.cycle(int32(t))
				}
			}
			return ""
		}
		if r.slots == r.c.o.Slots {
			r.full = r.cycle(slices.Min(r.ready))
		}
		r.slots++
		for _, t := range r.ready {
			r.wait[t] = forNothing
		}
	}
}

// advance runs threadblock t until it blocks.
func (r *run) advance(t int32) {
	c := r.c
	r.wait[t] = forNothing
	steps := c.tb(t).Steps
	for r.next[t] < c.first[t+1] {
		i := r.next[t] - c.first[t]
		s := &steps[i]
		for ; r.dep[t] < int32(len(s.Deps)); r.dep[t]++ {
			need := c.met(c.tbGPU[t], s.Deps[r.dep[t]])
			if r.next[c.stepTB[need]] <= need {
				r.await(t, need)
				return
			}
		}
		if s.Op.Sends() || s.Op.Receives() {
			total := (s.Count-1)/r.callChunks + 1
			if !r.communicate(t, total, s.Op.Sends(), s.Op.Receives()) {
				return
			}
		}
		r.calls[t], r.dep[t] = 0, 0
		r.next[t]++
		if r.order != nil {
			r.order = append(r.order, c.first[t]+i)
		}
		if s.HasDep {
			r.wake(c.first[t] + i)
		}
	}
}

// communicate makes as many of a step's remaining calls as possible, and
// reports whether none is left.
func (r *run) communicate(t, total int32, sends, receives bool) (done bool) {
	from, to := r.c.sender[t], r.c.receiver[t]
	n := int64(total - r.calls[t])
	why := forNothing
	if receives {
		if there := r.sent[from] - r.taken[t]; there < n {
			n, why = there, forMessage
		}
	}
	if sends {
		if free := int64(r.slots) - (r.sent[t] - r.taken[to]); free < n {
			n, why = free, forSlot
		}
	}
	if n > 0 {
		r.calls[t] += int32(n)
		if receives {
			r.taken[t] += n
			if r.wait[from] == forSlot {
				r.rouse(from)
			}
		}
		if sends {
			r.sent[t] += n
			if r.wait[to] == forMessage {
				r.rouse(to)
			}
		}
	}
	if why == forSlot {
		r.slotless = append(r.slotless, t)
	}
	r.wait[t] = why
	return why == forNothing
}

func (r *run) rouse(t int32) {
	r.wait[t] = forNothing
	r.ready = append(r.ready, t)
}

// await blocks t until step need of another threadblock is complete.
func (r *run) await(t, need int32) {
	r.wait[t], r.need[t] = forFlag, need
	r.after[t], r.waiters[need] = r.waiters[need], t
}

// wake wakes the threadblocks that wait for a step.
func (r *run) wake(step int32) {
	for w := r.waiters[step]; w >= 0; w = r.after[w] {
		r.rouse(w)
	}
	r.waiters[step] = -1
}

func (r *run) blocker(t int32) int32 {
	switch r.wait[t] {
	case forMessage:
		return r.c.sender[t]
	case forSlot:
		return r.c.receiver[t]
	}
	return r.c.stepTB[r.need[t]]
}

// cycle follows the waits from t until a threadblock repeats, or one waits for
// a threadblock that has ended, and describes them.
func (r *run) cycle(t int32) string {
	seen := map[int32]int{}
	var path []int32
	for {
		if at, again := seen[t]; again {
			return r.describeCycle(path[at:])
		}
		if r.next[t] == r.c.first[t+1] {
			return r.describeCycle(path)
		}
		seen[t] = len(path)
		path = append(path, t)
		t = r.blocker(t)
	}
}

// describeCycle formats the steps of a cycle of waiting threadblocks.
func (r *run) describeCycle(path []int32) string {
	const most = 12
	var b strings.Builder
	for i, t := range path {
		if i == most {
			fmt.Fprintf(&b, "; and so on, %d in all", len(path))
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		g, tb, step := r.c.where(r.next[t])
		fmt.Fprintf(&b, "gpu %d threadblock %d step %d (%s) waits for ", g, tb, step, describe(r.c.step(r.next[t])))
		other := r.blocker(t)
		og := int(r.c.tbGPU[other])
		otb := int(other - r.c.firstTB[og])
		switch r.wait[t] {
		case forMessage:
			fmt.Fprintf(&b, "a message of gpu %d threadblock %d", og, otb)
		case forSlot:
			fmt.Fprintf(&b, "a slot that gpu %d threadblock %d must free", og, otb)
		default:
			_, _, n := r.c.where(r.need[t])
			fmt.Fprintf(&b, "step %d of threadblock %d", n, otb)
		}
	}
	return b.String()
}
