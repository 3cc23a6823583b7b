package ptxtest

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/colltune/colltune/internal/dynlib"
)

// work is an item of a stream. If it begins a grid, it takes time.
type work struct {
	does  string
	begin func() *grid
}

// event has the time at which a stream reached it, and the records that are pending.
type event struct {
	at      uint64
	records int
}

// stream is work in order.
type stream struct {
	device  int
	queue   []work
	running *grid
	capture *[]work // what a graph records
}

// advance lets streams begin what is next, and grids run for n instructions.
func (d *driver) advance(instructions int) {
	for moved := true; moved; {
		moved = false
		for _, s := range d.inOrder() {
			if s.running != nil && s.running.done() {
				s.running = nil
			}
			for s.running == nil && len(s.queue) > 0 {
				next := s.queue[0]
				s.queue = s.queue[1:]
				s.running = next.begin()
				moved = true
			}
		}
	}
	d.m.run(instructions)
}

// inOrder lists the streams by handle, so that a seed always gives the same run.
func (d *driver) inOrder() []*stream {
	var handles []uintptr
	for h := range d.streams {
		handles = append(handles, h)
	}
	slices.Sort(handles)
	all := make([]*stream, len(handles))
	for i, h := range handles {
		all[i] = d.streams[h]
	}
	return all
}

func (s *stream) busy() bool { return len(s.queue) > 0 || s.running != nil && !s.running.done() }

// drain waits for everything, as calls of the default stream do.
func (d *driver) drain() {
	for !d.m.lost && slices.ContainsFunc(d.inOrder(), (*stream).busy) {
		d.advance(1 << 20)
	}
}

// push puts work into a stream, or into the graph that it records.
func (d *driver) push(handle uintptr, w work) result {
	s := d.streams[handle]
	switch {
	case s == nil || s.device != d.device():
		return invalidHandle
	case s.capture == nil:
		s.queue = append(s.queue, w)
	case w.does != "launch":
		return captureUnsupported
	default:
		*s.capture = append(*s.capture, w)
	}
	return success
}

// query runs for a while, and reports whether a stream has done its work.
func (d *driver) query(a arguments) result {
	s := d.streams[a[0]]
	if s == nil {
		return invalidHandle
	}
	if s.busy() {
		d.advance(1 << 18)
	}
	if s.busy() {
		return notReady
	}
	return success
}

func (d *driver) record(a arguments) result {
	e := d.events[a[0]]
	if e == nil {
		return invalidHandle
	}
	e.records++
	return d.push(a[1], work{does: "record", begin: func() *grid { e.at = d.m.clock; e.records--; return nil }})
}

// passed reports whether an event has: time goes on only where a stream is asked.
func (d *driver) passed(a arguments) result {
	switch e := d.events[a[0]]; {
	case e == nil:
		return invalidHandle
	case e.records > 0:
		return notReady
	}
	return success
}

func (d *driver) elapsed(a arguments) result {
	from, to := d.events[a[1]], d.events[a[2]]
	if from == nil || to == nil {
		return invalidHandle
	}
	return put(a[0], float32(to.at-from.at)/1e6)
}

func (d *driver) beginCapture(a arguments) result {
	s := d.streams[a[0]]
	if s == nil || s.capture != nil {
		return invalidHandle
	}
	s.capture = &[]work{}
	return success
}

func (d *driver) endCapture(a arguments) result {
	s := d.streams[a[0]]
	if s == nil || s.capture == nil {
		return invalidHandle
	}
	made := *s.capture
	s.capture = nil
	return give(d, d.graphs, a[1], made)
}

func (d *driver) launchGraph(a arguments) result {
	for _, w := range d.graphs[a[0]] {
		if r := d.push(a[1], w); r != success {
			return r
		}
	}
	return success
}

// parsed keeps modules that were read before, because texts are long and many
// tests load the same one.
var parsed struct {
	sync.Mutex
	by map[[32]byte]*Module
}

// load reads PTX. Its faults are written where the caller wants the compiler's
// log. Options are given as kinds and values; kinds 5 and 6 are the log's buffer
// and its size.
func (d *driver) load(a arguments) result {
	image := []byte(dynlib.GoString(a[1], 1<<30))
	if d.m.Change != nil {
		image = d.m.Change(image)
	}
	m, err := parse(image)
	if err != nil {
		for i := range a[2] {
			if kind := *at[int32](a[3] + 4*i); kind == 5 {
				copy(bytesAt(*at[uintptr](a[4] + 8*i), 4096), err.Error()+"\x00")
			}
		}
		return invalidPTX
	}
	return give(d, d.modules, a[0], m)
}

func parse(text []byte) (*Module, error) {
	parsed.Lock()
	defer parsed.Unlock()
	key := sha256.Sum256(text)
	if m := parsed.by[key]; m != nil {
		return m, nil
	}
	m, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if parsed.by == nil {
		parsed.by = map[[32]byte]*Module{}
	}
	parsed.by[key] = m
	return m, nil
}

func (d *driver) find(a arguments) result {
	m := d.modules[a[1]]
	if m == nil {
		return invalidHandle
	}
	f := m.functions[dynlib.GoString(a[2], 1<<20)]
	if f == nil || !f.kernel {
		return notFound
	}
	return give(d, d.kernels, a[0], loaded{m, f})
}

func (d *driver) kernelAttribute(a arguments) result {
	k, ok := d.kernels[a[2]]
	if !ok {
		return invalidHandle
	}
	n, ok := map[uintptr]int{0: k.f.maxThreads, 1: k.f.sharedSize, 3: k.f.localBytes, 4: k.f.registers()}[a[1]]
	if !ok {
		return invalidValue
	}
	return put(a[0], int32(n))
}

func (d *driver) occupancy(a arguments) result {
	k, ok := d.kernels[a[1]]
	if !ok {
		return invalidHandle
	}
	return put(a[0], int32(k.resident(int(a[2]))))
}

// resident returns how many blocks of the given threads a multiprocessor holds: 64 warps,
// 32 blocks, 65,536 registers, 64 KiB of shared memory.
func (k *loaded) resident(threads int) int {
	if threads < 1 || threads > k.f.maxThreads {
		return 0
	}
	warps := (threads + warpThreads - 1) / warpThreads
	n := min(32, 64/warps, 65536/(k.f.registers()*warps*warpThreads))
	if k.f.sharedSize > 0 {
		n = min(n, 64<<10/k.f.sharedSize)
	}
	return n
}

// registers returns the registers of a thread. PTX has any number; an assembler may use at
// most 255, and no more than .maxntid leaves each thread.
func (f *function) registers() int {
	return min(65536/roundUp(f.maxThreads, warpThreads)/8*8, 255)
}

func (d *driver) launch(a arguments) result { return d.start(a, false) }

func (d *driver) launchTogether(a arguments) result { return d.start(a, true) }

// start queues a kernel. It copies the parameter now, because the caller's copy is
// gone when the grid begins.
func (d *driver) start(a arguments, together bool) result {
	k, ok := d.kernels[a[0]]
	if !ok {
		return invalidHandle
	}
	blocks, threads := int(a[1]), int(a[4])
	if blocks < 1 || a[2] != 1 || a[3] != 1 || threads < 1 || threads > k.f.maxThreads || a[5] != 1 || a[6] != 1 || a[7] != 0 || len(k.f.parameters) != 1 {
		return invalidValue
	}
	if together && blocks > k.resident(threads)*d.m.SMs {
		return tooLarge
	}
	parameter := bytes.Clone(bytesAt(*at[uintptr](a[9]), uintptr(k.f.bytes)))
	device := d.device()
	return d.push(a[8], work{does: "launch", begin: func() *grid {
		return d.m.begin(device, k.module, k.f, blocks, threads, parameter)
	}})
}
