package emulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
)

// Machine is GPUs without any hardware. Its exported fields are set before it is
// first used.
type Machine struct {
	Devices int    // 1 where nothing is said
	SMs     int    // of a device; 4 where nothing is said
	Memory  uint64 // bytes of a device; 1 GiB where nothing is said
	Seed    uint64 // draws who runs next
	Weak    bool   // memory is weak
	Tick    uint64 // nanoseconds that reading the clock takes; 1000 where nothing is said
	Most    uint64 // instructions that threads together may take; 2^40 where nothing is said
	// WholeLines has volatile accesses of 16 bytes a thread be of whole lines of
	// 128, by threads that run in step.
	WholeLines bool
	// Covered are the lines of the text that were run, where it has room for them.
	Covered []bool
	// Costs, where they are given, have launches be timed by a model; memory is
	// then not weak, and the seed draws nothing.
	Costs *Costs
	// Change is done to the text of modules, by which tests have it be wrong.
	Change func(text []byte) []byte

	// Faults are what threads were ended for: each makes the device be lost, as
	// on a GPU.
	Faults []string
	// Instructions are those that groups of threads have run.
	Instructions uint64
	// Timings are what launches took, where there are costs.
	Timings []Timing

	random  *rand.Rand
	memory  memory
	reaches map[[2]int]bool
	clock   uint64
	ready   []*group
	grids   []*grid
	frames  map[*function][]frame
	lost    bool

	time     int // of the model
	running  *group
	under    []timedStore // stores that are not seen yet
	nextSeen int          // when the first of them is
	stored   map[uint64]clock
}

// grid is a launch of a kernel.
type grid struct {
	machine   *Machine
	device    int
	kernel    *function
	module    *Module
	blocks    []*block
	threads   int // of a block
	parameter []byte
	running   int // blocks

	begun        int   // by the model
	end, drained clock // its last instruction, and the last store
}

// block is a block of threads, on a multiprocessor.
type block struct {
	grid        *grid
	index       int
	warps       []*warp
	shared      []byte
	sharedKnown []byte
	waiting     int // threads at a barrier
	gone        int
	late        []late
	lines       map[uint64]*[lineBytes]byte

	seen clock          // when all its stores are, by the model
	near map[uint64]int // when lines are in the nearest cache, by the model
}

// begin makes a grid ready to run.
func (m *Machine) begin(device int, module *Module, kernel *function, blocks, threads int, parameter []byte) *grid {
	g := &grid{machine: m, device: device, kernel: kernel, module: module, threads: threads, parameter: parameter, running: blocks, begun: m.time}
	for i := range blocks {
		b := &block{grid: g, index: i, shared: make([]byte, kernel.sharedSize), sharedKnown: make([]byte, kernel.sharedSize)}
		if m.Weak {
			b.lines = map[uint64]*[lineBytes]byte{}
		}
		if m.Costs != nil {
			b.near = map[uint64]int{}
		}
		g.blocks = append(g.blocks, b)
	}
	for _, b := range g.blocks {
		for first := 0; first < threads; first += warpThreads {
			w := &warp{block: b, threads: min(threads-first, warpThreads)}
			all := &group{warp: w, f: kernel}
			for k := range w.threads {
				t := &thread{index: first + k, block: b, stack: localBase}
				t.enter(kernel)
				all.lanes = append(all.lanes, t)
			}
			if m.Costs != nil {
				all.time = newTimeline(g.begun, kernel)
			}
			w.groups = []*group{all}
			b.warps = append(b.warps, w)
			m.makeReady(all)
		}
	}
	m.grids = append(m.grids, g)
	return g
}

func (g *grid) done() bool { return g.running == 0 }

func (m *Machine) makeReady(g *group) {
	if m.Costs != nil {
		heap.Push(byClock{m}, g)
		return
	}
	g.ready = len(m.ready)
	m.ready = append(m.ready, g)
}

func (m *Machine) makeUnready(g *group) {
	if m.Costs != nil {
		heap.Remove(byClock{m}, g.ready)
		return
	}
	last := m.ready[len(m.ready)-1]
	m.ready[g.ready], last.ready = last, g.ready
	m.ready = m.ready[:len(m.ready)-1]
	g.ready = -1
}

// read is the clock, which goes on as instructions do, and as it is read.
func (m *Machine) read() uint64 {
	m.clock += m.Tick
	return m.clock
}

// run runs groups for about so many instructions, drawing who is next and for
// how long. What a thread is ended for ends everything.
func (m *Machine) run(most int) {
	var now *group
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			m.lose(now.describe() + ": " + string(f))
		}
	}()
	for most > 0 && len(m.ready) > 0 && !m.lost {
		n := 1
		if m.Costs != nil {
			now = m.next()
			now.run(n)
			m.settle(now)
		} else {
			now = m.ready[m.random.IntN(len(m.ready))]
			if m.Weak {
				now.warp.block.drift()
			}
			n = now.run(1 + m.random.IntN(1<<m.random.IntN(9)))
		}
		most -= n
		m.clock += uint64(n)
		m.Instructions += uint64(n)
		if m.Instructions > m.Most {
			now.fail("no end after %d instructions", m.Instructions)
		}
	}
	running := m.grids[:0]
	for _, g := range m.grids {
		if !g.done() {
			running = append(running, g)
		}
	}
	m.grids = running
	if len(m.ready) == 0 && len(m.grids) > 0 && !m.lost {
		m.lose(fmt.Sprintf("kernel %s: all threads wait for each other at barriers", m.grids[0].kernel.name))
	}
}

// describe says where a group is.
func (g *group) describe() string {
	t := g.lanes[0]
	if g.now != nil {
		t = g.now
	}
	b := g.warp.block
	return fmt.Sprintf("kernel %s, block %d of %d, thread %d of %d: PTX line %d, in %s", b.grid.kernel.name, b.index, len(b.grid.blocks), t.index, b.grid.threads, g.lately, g.f.name)
}

// lose ends everything, as a GPU does that met what it cannot go on from.
func (m *Machine) lose(why string) {
	m.Faults = append(m.Faults, why)
	m.lost = true
	m.ready, m.grids = nil, nil
}
