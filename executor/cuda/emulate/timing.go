package emulate

import "math"

// How long a launch would take, by a model: a multiprocessor that issues each
// warp's instructions in their order, one when the values it reads are there,
// and what it then waits for, by Costs. Groups of threads run in the order of
// their clocks, so that a poll sees what was stored when it comes.
//
//	ready ─▶ the group whose clock is least ─▶ issue: its clock, and that of what it writes
//	                                            │ a clock remembers what it waited for
//	                                            ▼
//	                                           path: from the grid's end back to its start
//
// It is a model: it knows no caches but the nearest, no instructions fetched, no
// warps that take each other's turn, and PTX has moves and conversions that no
// machine code has. Its figures are for comparing one text with another.

// Costs are what waiting takes, in cycles. Zero costs: nothing is timed.
type Costs struct {
	Issue    int // from an instruction to the warp's next
	Compute  int // until a result of 32 bits may be read; of 64 bits, twice
	Branch   int // until the warp is where it branched to
	Call     int // likewise, of a call or a return
	Shared   int // a load of shared memory
	Near     int // a load that the multiprocessor's own cache has: the stack, lines read before
	Memory   int // any other load: from the cache of all multiprocessors
	Store    int // until others see a store
	Fence    int // from when all the block's stores have been seen until a fence has told its thread
	Block    int // a barrier of the block, from when its last thread came
	Together int // a barrier of a warp
}

// Hopper are costs of a GPU of compute capability 9.0 in cycles of its clock:
// assumptions, of the size that measurements of such GPUs have, 4 cycles for
// arithmetic, some 30 for shared memory, 222 to 339 for the second cache of an
// L40, by the multiprocessor that asks. A store's are a guess, and what a hop
// hangs on: vary them.
func Hopper() *Costs {
	return &Costs{Issue: 2, Compute: 5, Branch: 8, Call: 20, Shared: 29, Near: 40, Memory: 265, Store: 600, Fence: 200, Block: 30, Together: 12}
}

// clock is when something is there, and what that depended on.
type clock struct {
	at     int
	issued int // instructions on the way
	path   *Event
}

// Event is a wait on the longest path to the end of a launch.
type Event struct {
	What Cause
	Line int // of the text
	Took int // cycles
	At   int // when it was over
	from *Event
}

// Cause is what is waited for.
type Cause uint8

const (
	Loads   Cause = iota // memory that is far
	Flags                // a store to be seen by one who polls
	Fences               // what was stored before to be seen
	Meeting              // barriers, of blocks and warps
	Nearby               // the stack, shared memory, lines that are near
	Drain                // stores under way where a grid ends
	Causes               // how many there are
)

func (c Cause) String() string {
	return [...]string{"loads", "flags", "fences", "barriers", "near loads", "last stores"}[c]
}

func (c clock) and(what Cause, line, took int) clock {
	c.at += took
	c.path = &Event{what, line, took, c.at, c.path}
	return c
}

func later(a, b clock) clock {
	if b.at > a.at {
		return b
	}
	return a
}

// Timing is how long a launch took.
type Timing struct {
	Kernel  string
	Blocks  int
	Threads int
	Began   int // on the machine's clock
	Cycles  int
	Issued  int     // instructions on the longest path
	Path    []Event // the waits on it, in order; the rest are instructions
}

// Of counts the waits with a cause, and adds up their cycles.
func (t *Timing) Of(what Cause) (times, cycles int) {
	for _, e := range t.Path {
		if e.What == what {
			times++
			cycles += e.Took
		}
	}
	return times, cycles
}

// timed notes how long a grid took: until its last instruction, and until its
// stores have arrived.
func (g *grid) timed() {
	m := g.machine
	m.arriveUntil(math.MaxInt)
	end := g.end
	if g.drained.at > end.at {
		end = g.drained
		last := *end.path
		last.What = Drain
		end.path = &last
	}
	t := Timing{Kernel: g.kernel.name, Blocks: len(g.blocks), Threads: g.threads, Began: g.begun, Cycles: end.at - g.begun, Issued: end.issued}
	for e := end.path; e != nil; e = e.from {
		t.Path = append([]Event{*e}, t.Path...)
	}
	m.Timings = append(m.Timings, t)
	m.time = max(m.time, end.at)
}
