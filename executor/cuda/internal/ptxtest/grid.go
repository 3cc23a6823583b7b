package ptxtest

import (
	"fmt"
	"math/rand/v2"
)

// Machine is a set of emulated GPUs. Its exported fields are set before its first Use.
type Machine struct {
	Devices int    // 0: 1
	SMs     int    // of a device; 0: 4
	Memory  uint64 // bytes of a device; 0: 1 GiB
	Seed    uint64 // decides who runs next
	Weak    bool   // weak memory: see the package comment
	Tick    uint64 // nanoseconds that reading the clock takes; 0: 1000
	Most    uint64 // instructions that all threads together may run; 0: 2^40
	// WholeLines requires that volatile accesses of 16 bytes a thread cover whole lines
	// of 128 bytes, by threads that run in step.
	WholeLines bool
	// Covered is set at the lines of the text that were run, as far as it is long enough.
	Covered []bool
	// Change is applied to the text of modules: tests break it.
	Change func(text []byte) []byte

	// Faults are the reasons why threads were ended. Each loses the device, as on a GPU.
	Faults []string
	// Instructions counts the instructions that groups of threads have run.
	Instructions uint64

	random  *rand.Rand
	memory  memory
	reaches map[[2]int]bool
	clock   uint64
	ready   []*group
	grids   []*grid
	frames  map[*function][]frame
	lost    bool
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
}

// begin makes a grid ready to run.
func (m *Machine) begin(device int, module *Module, kernel *function, blocks, threads int, parameter []byte) *grid {
	g := &grid{machine: m, device: device, kernel: kernel, module: module, threads: threads, parameter: parameter, running: blocks}
	for i := range blocks {
		b := &block{grid: g, index: i, shared: make([]byte, kernel.sharedSize), sharedKnown: make([]byte, kernel.sharedSize)}
		if m.Weak {
			b.lines = map[uint64]*[lineBytes]byte{}
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
	g.ready = len(m.ready)
	m.ready = append(m.ready, g)
}

func (m *Machine) makeUnready(g *group) {
	last := m.ready[len(m.ready)-1]
	m.ready[g.ready], last.ready = last, g.ready
	m.ready = m.ready[:len(m.ready)-1]
	g.ready = -1
}

// read returns the clock's time. It advances with instructions, and with each read.
func (m *Machine) read() uint64 {
	m.clock += m.Tick
	return m.clock
}

// run runs groups for about most instructions. The next group, and how far it runs, are
// drawn from the seed. A fault of one thread loses the device.
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
		now = m.ready[m.random.IntN(len(m.ready))]
		if m.Weak {
			now.warp.block.drift()
		}
		n := now.run(1 + m.random.IntN(1<<m.random.IntN(9)))
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

// describe returns a group's position, for a fault.
func (g *group) describe() string {
	t := g.lanes[0]
	if g.now != nil {
		t = g.now
	}
	b := g.warp.block
	return fmt.Sprintf("kernel %s, block %d of %d, thread %d of %d: PTX line %d, in %s", b.grid.kernel.name, b.index, len(b.grid.blocks), t.index, b.grid.threads, g.lately, g.f.name)
}

// lose ends all grids, as a GPU does after a fault.
func (m *Machine) lose(why string) {
	m.Faults = append(m.Faults, why)
	m.lost = true
	m.ready, m.grids = nil, nil
}
