package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// machine is a plan laid out for execution at one size: every place resolved to
// cells, every channel to the two counters it joins.
//
// A chunk is cut into so many cells that every part of a threadblock group and
// every pass of a pipeline is a whole number of them.
type machine struct {
	p      *Plan
	r      *verify.Report
	size   size
	col    collective.Collective
	judged bool // whether col says what the result must be
	double int  // cells of scratch a cell takes: 2 where packets need room for flags

	memory   *verify.Memory
	tbs      []threadblock
	firstTB  []int // by GPU, one more than there are
	counters []counter
	barriers map[[2]int][]int // (GPU, barrier): the threadblocks in it
	engines  map[int]int      // by counter that a port channel signals: its clock
	mine     []map[end]int    // by GPU and channel: the counter that its waits take from
	theirs   []map[end]int    // … that its signals post to
	locks    []int            // by GPU: the counter of its first semaphore
	vague    []string         // what keeps the order of accesses from being known
	said     bool
}

// size is how large a call is executed.
type size struct {
	cells  int // of a chunk
	passes int // of a pipeline over one chunk
	unit   int // cells of a granule, which every pipeline's unit is a multiple of
	bytes  int // of a granule
	wrap   int // cells of a chunk of scratch, where it is used over and over; 0 where not
}

// threadblock is a threadblock's program.
type threadblock struct {
	gpu, id int
	code    []instr
}

// instr is an operation with its places and counters.
type instr struct {
	op      *Op
	at      int   // its number in the plan, those in a pipeline counted
	lanes   []int // counters: posted by signals and releases, taken by waits and acquires
	engines []int // of the port channels, by lane
	src     []region
	dst     []region
	cells   int // of a place
	// A pipeline: the code from here to end, passes times, step cells further
	// each time. An operation in one has its step too.
	end, passes, step int
	barrier           [2]int
}

// region is a place in cells; over a switch, in the memory of each of ranks.
type region struct {
	first   []int // cell of each rank
	ranks   []int
	scratch bool
	packets bool
	user    bool // of a user's buffer
}

// counter is what waits take from and signals add to: one end of a channel, or
// a semaphore of a GPU.
type counter struct {
	name      string
	initial   int
	semaphore bool
	// By threadblock, in one launch; posters and takers are these, in order.
	posts, takes    map[int]int
	posters, takers []int
}

// end is a channel of a GPU, by type and number.
type end struct {
	t ChannelType
	n int
}

// fail reports what makes the plan wrong at an operation.
func (m *machine) fail(kind verify.Kind, gpu, tb, op int, format string, args ...any) {
	m.r.Add(verify.Finding{Kind: kind, Severity: verify.Error, GPU: gpu, Threadblock: tb, Step: op, Message: fmt.Sprintf(format, args...)})
}

// warn reports what does not.
func (m *machine) warn(gpu, tb, op int, format string, args ...any) {
	m.r.Add(verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: gpu, Threadblock: tb, Step: op, Message: fmt.Sprintf(format, args...)})
}

// newMachine lays a plan out that structure has found nothing wrong with.
func newMachine(p *Plan, r *verify.Report, s size) (*machine, error) {
	m := &machine{p: p, r: r, size: s, double: 1, barriers: map[[2]int][]int{}, engines: map[int]int{}}
	if p.Protocol == "LL" {
		m.double = 2
	}
	var err error
	if m.col, m.judged, err = p.collective(s.cells); err != nil {
		return nil, err
	}
	scratch := make([]int, len(p.GPUs))
	for g := range p.GPUs {
		scratch[g] = p.GPUs[g].Scratch * m.scratchCells() * m.double
	}
	m.memory = verify.NewMemory(m.col, scratch, r)
	m.channels()
	for g := range p.GPUs {
		m.firstTB = append(m.firstTB, len(m.tbs))
		for t := range p.GPUs[g].Threadblocks {
			m.tbs = append(m.tbs, threadblock{gpu: g, id: t})
		}
	}
	m.firstTB = append(m.firstTB, len(m.tbs))
	for t := range m.tbs {
		m.resolve(t)
	}
	for i := range m.counters {
		m.judgeCounter(&m.counters[i])
	}
	return m, nil
}

// scratchCells is how many cells a chunk of scratch has.
func (m *machine) scratchCells() int {
	if m.size.wrap > 0 {
		return m.size.wrap
	}
	return m.size.cells
}

// channels gives every channel its two counters: the n-th channel of a type to
// a peer meets the peer's n-th back. Where the peer has none, the runtime makes
// one that nobody waits on.
func (m *machine) channels() {
	type line struct {
		t        ChannelType
		from, to int
	}
	numbers := map[line][]int{}
	for g := range m.p.GPUs {
		m.mine, m.theirs = append(m.mine, map[end]int{}), append(m.theirs, map[end]int{})
		for _, t := range [...]ChannelType{Memory, Port} {
			for n, peer := range m.p.GPUs[g].peers[t] {
				numbers[line{t, g, peer}] = append(numbers[line{t, g, peer}], n)
				m.mine[g][end{t, n}] = m.counter(fmt.Sprintf("%s channel %d of gpu %d, from gpu %d", t, n, g, peer))
			}
		}
	}
	for g := range m.p.GPUs {
		for _, t := range [...]ChannelType{Memory, Port} {
			nth := map[int]int{}
			for n, peer := range m.p.GPUs[g].peers[t] {
				back := numbers[line{t, peer, g}]
				if i := nth[peer]; i < len(back) {
					m.theirs[g][end{t, n}] = m.mine[peer][end{t, back[i]}]
				} else {
					m.theirs[g][end{t, n}] = m.counter(fmt.Sprintf("the other end of %s channel %d of gpu %d, which gpu %d does not have", t, n, g, peer))
				}
				nth[peer]++
			}
		}
		m.locks = append(m.locks, len(m.counters))
		for i, v := range m.p.GPUs[g].Semaphores {
			c := &m.counters[m.counter(fmt.Sprintf("semaphore %d of gpu %d", i, g))]
			c.initial, c.semaphore = v, true
		}
	}
}

func (m *machine) counter(name string) int {
	m.counters = append(m.counters, counter{name: name, posts: map[int]int{}, takes: map[int]int{}})
	return len(m.counters) - 1
}
