package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// machine is a plan laid out for execution at one size. Every place is resolved
// to cells, and every channel to the two counters at its ends. The number of
// cells of a chunk is such that every part of a threadblock group and every
// pass of a pipeline is a whole number of them.
type machine struct {
	p           *Plan
	r           *verify.Report
	size        size
	col         collective.Collective
	resultKnown bool // col defines the required result
	double      int  // scratch cells for each cell of data: 2 if packets need room for flags

	memory         *verify.Memory
	tbs            []threadblock
	firstTB        []int // by GPU; with one more entry at the end
	counters       []counter
	barriers       map[[2]int][]int // by GPU and barrier: its threadblocks
	engines        map[int]int      // by counter that a port channel signals: the clock of the port
	waitCounter    []map[end]int    // by GPU and channel: the counter its waits take from
	signalCounter  []map[end]int    // by GPU and channel: the counter its signals post to
	firstSemaphore []int            // by GPU: the counter of its first semaphore
	unknownOrder   []string         // why the order of some accesses can't be known
	said           bool
}

// size is the call size at which a plan is executed.
type size struct {
	cells  int // of a chunk
	passes int // of a pipeline over one chunk
	unit   int // cells of a granule; the unit of every pipeline is a multiple of it
	bytes  int // of a granule
	wrap   int // cells of a chunk of scratch if scratch is used in turns; otherwise 0
}

type threadblock struct {
	gpu, id int
	code    []instr
}

// instr is an operation with its places and counters resolved.
type instr struct {
	op      *Op
	at      int   // its number in the plan, counting operations within pipelines
	lanes   []int // counters that its threads post to or take from, one each
	engines []int // ports' clocks, by lane
	src     []region
	dst     []region
	cells   int // of a place
	// For a pipeline: the instructions from the next one to end run passes times,
	// advancing by step cells. Instructions within one have step too.
	end, passes, step int
	barrier           [2]int
}

// region is a place in cells; for a switch, a place in the memory of several
// ranks.
type region struct {
	first   []int // its first cell in each rank's memory
	ranks   []int
	scratch bool
	packets bool
	user    bool // of a user's buffer
}

// counter counts signals, which waits take: one end of a channel, or a
// semaphore within a GPU.
type counter struct {
	name      string
	initial   int
	semaphore bool
	// Numbers in one launch, by threadblock. posters and takers list the same
	// threadblocks in order.
	posts, takes    map[int]int
	posters, takers []int
}

// end identifies a channel of a GPU by type and number.
type end struct {
	t ChannelType
	n int
}

func (m *machine) fail(kind verify.Kind, gpu, tb, op int, format string, args ...any) {
	m.r.Add(verify.Finding{Kind: kind, Severity: verify.Error, GPU: gpu, Threadblock: tb, Step: op, Message: fmt.Sprintf(format, args...)})
}

func (m *machine) warn(gpu, tb, op int, format string, args ...any) {
	m.r.Add(verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: gpu, Threadblock: tb, Step: op, Message: fmt.Sprintf(format, args...)})
}

// newMachine lays out a plan in which structure has found no error.
func newMachine(p *Plan, r *verify.Report, s size) (*machine, error) {
	m := &machine{p: p, r: r, size: s, double: 1, barriers: map[[2]int][]int{}, engines: map[int]int{}}
	if p.Protocol == "LL" {
		m.double = 2
	}
	var err error
	if m.col, m.resultKnown, err = p.collective(s.cells); err != nil {
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
		m.checkCounter(&m.counters[i])
	}
	return m, nil
}

func (m *machine) scratchCells() int {
	if m.size.wrap > 0 {
		return m.size.wrap
	}
	return m.size.cells
}

// channels gives every channel its two counters: the n-th channel of a type to a
// peer is paired with the peer's n-th channel back. If the peer has none, the
// runtime creates one on which nothing waits.
func (m *machine) channels() {
	type line struct {
		t        ChannelType
		from, to int
	}
	numbers := map[line][]int{}
	for g := range m.p.GPUs {
		m.waitCounter, m.signalCounter = append(m.waitCounter, map[end]int{}), append(m.signalCounter, map[end]int{})
		for _, t := range [...]ChannelType{Memory, Port} {
			for n, peer := range m.p.GPUs[g].peers[t] {
				numbers[line{t, g, peer}] = append(numbers[line{t, g, peer}], n)
				m.waitCounter[g][end{t, n}] = m.counter(fmt.Sprintf("%s channel %d of gpu %d, from gpu %d", t, n, g, peer))
			}
		}
	}
	for g := range m.p.GPUs {
		for _, t := range [...]ChannelType{Memory, Port} {
			nth := map[int]int{}
			for n, peer := range m.p.GPUs[g].peers[t] {
				back := numbers[line{t, peer, g}]
				if i := nth[peer]; i < len(back) {
					m.signalCounter[g][end{t, n}] = m.waitCounter[peer][end{t, back[i]}]
				} else {
					m.signalCounter[g][end{t, n}] = m.counter(fmt.Sprintf("the other end of %s channel %d of gpu %d, which gpu %d does not have", t, n, g, peer))
				}
				nth[peer]++
			}
		}
		m.firstSemaphore = append(m.firstSemaphore, len(m.counters))
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
