package cpu

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// maxPerCall is the most chunks of one call (MSCCL_MAX_COUNT - 1).
const maxPerCall = 71

// run is one trial: a plan with memory and threadblocks.
type run struct {
	plan       *plan
	reference  *data.Reference
	layout     data.Layout
	proto      topologies.Proto
	reduce     data.Reducer
	tiles      int
	perCall    int // chunks
	slots      int
	iterations int
	memory     int64 // bytes
	spins      int   // polls of an event before its waiter sleeps

	tileElements int64

	ranks       []*rank
	blocks      []*block
	connections []*connection // by link

	start   semaphore    // iterations begun
	left    atomic.Int32 // ranks that have not finished the iteration
	ended   chan time.Time
	stopped atomic.Bool
	workers sync.WaitGroup
}

// rank is one rank's memory and threadblocks.
type rank struct {
	run     *run
	id      int
	memory  [collective.Scratch + 1]memory
	guarded [collective.Scratch + 1]*data.Guarded
	buffers data.Buffers
	blocks  []*block
	left    atomic.Int32 // threadblocks that have not finished the iteration
}

// settings returns the run of a plan with a trial's knobs, without memory.
func (p *plan) settings(t executor.Trial) (*run, error) {
	d, err := data.ParseDType(t.DType)
	if err != nil {
		return nil, executor.Unsupported(err)
	}
	op, err := data.ParseOp(t.Op)
	if err != nil {
		return nil, executor.Unsupported(err)
	}
	if int(t.Protocol) >= len(t.Topology.Protocols) {
		return nil, fmt.Errorf("protocol %d does not exist: want one of %v", t.Protocol, topologies.AllProtocols)
	}
	constants := &t.Topology.Protocols[t.Protocol]
	if constants.Slots < 1 {
		return nil, fmt.Errorf("topology %s has no constants for protocol %v", t.Topology.Name, t.Protocol)
	}
	reference, err := data.NewReference(p.collective, t.Bytes, d, op, t.Seed)
	if err != nil {
		return nil, executor.Unsupported(err)
	}
	tile := t.TileBytes
	if tile == 0 {
		tile = int64(constants.Tile)
	}
	if tile < int64(d.Bytes()) {
		return nil, fmt.Errorf("tile of %d bytes: want at least an element of %d", tile, d.Bytes())
	}
	if t.Iters < 0 || t.Warmup < 0 {
		return nil, fmt.Errorf("%d iterations after %d: want 0 or more", t.Iters, t.Warmup)
	}
	r := &run{
		plan: p, reference: reference, layout: reference.Layout, proto: t.Protocol,
		reduce: data.Reduction(d, op), slots: constants.Slots, iterations: t.Warmup + max(t.Iters, 1),
		tileElements: tile / int64(d.Bytes()), ended: make(chan time.Time, 1),
	}
	e := r.layout.ChunkElements
	tiles := max((e+r.tileElements-1)/r.tileElements, 1)
	if tiles > 1<<31 {
		return nil, fmt.Errorf("%d bytes in tiles of %d are %d iterations of the tile loop: want at most %d", t.Bytes, tile, tiles, 1<<31)
	}
	r.tiles, r.perCall = int(tiles), maxPerCall
	if e > 0 {
		r.perCall = int(min(max(tile/(e*int64(d.Bytes())), 1), maxPerCall))
	}
	for _, l := range p.links {
		if calls := float64(r.calls(l)) * float64(r.iterations); calls >= math.MaxUint32 {
			return nil, refuse("%.3g calls from rank %d to rank %d on channel %d: at most %d can be told apart by their flags", calls, l.from, l.to, l.channel, uint32(math.MaxUint32-1))
		}
	}
	return r, nil
}

// slotSize returns the bytes of data in the largest call on a link.
func (r *run) slotSize(l link) int64 {
	chunks := min(int64(l.count), int64(r.perCall))
	return chunks * min(r.layout.ChunkElements, r.tileElements) * int64(r.layout.ElemBytes)
}

// calls returns the number of calls of a connection in an iteration.
func (r *run) calls(l link) uint64 {
	n := uint64(0)
	for _, s := range r.plan.program.GPUs[l.from].Threadblocks[l.sender].Steps {
		if s.Op.Sends() {
			n += uint64((int(s.Count) + r.perCall - 1) / r.perCall)
		}
	}
	return n * uint64(r.tiles)
}

// need returns the bytes that all ranks take.
func (r *run) need() int64 {
	n := int64(0)
	if r.plan.collective.Reduces() {
		n += r.layout.UserBytes(r.plan.collective.LoopChunks()) // the reference
	}
	for id, g := range r.plan.program.GPUs {
		in, out, scratch := r.reference.Sizes(id, g.Scratch)
		n += in + out + scratch + int64(len(g.Threadblocks))*(3*pieceBytes+4096)
	}
	for _, l := range r.plan.links {
		n += int64(r.slots) * slotMemory(r.proto, r.slotSize(l))
	}
	return n
}

// build allocates buffers and connections.
func (r *run) build() {
	r.connections = make([]*connection, len(r.plan.links))
	for i, l := range r.plan.links {
		c := &connection{proto: r.proto, slots: uint64(r.slots)}
		c.allocate(r.slotSize(l))
		r.connections[i] = c
	}
	connection := func(i int) *connection {
		if i < 0 {
			return nil
		}
		return r.connections[i]
	}
	for id := range r.plan.program.GPUs {
		g := &r.plan.program.GPUs[id]
		k := &rank{run: r, id: id}
		in, out, scratch := r.reference.Sizes(id, g.Scratch)
		for b, size := range [...]int64{in, out, scratch} {
			k.guarded[b] = data.NewGuarded(size)
			m := &k.memory[b]
			m.layout, m.bytes = &r.layout, k.guarded[b].Bytes()
			if b := collective.Buffer(b); b != collective.Scratch && !r.layout.Even() {
				m.aside = make([]byte, r.plan.collective.BufferChunks(id, b)*r.layout.ElemBytes)
			}
		}
		k.buffers = data.Buffers{In: k.memory[collective.In].bytes, Out: k.memory[collective.Out].bytes, Scratch: k.memory[collective.Scratch].bytes}
		for tb := range g.Threadblocks {
			k.blocks = append(k.blocks, &block{
				run: r, rank: k, id: tb, tb: &g.Threadblocks[tb], gate: make(chan struct{}, 1),
				out: connection(r.plan.sends[id][tb]), in: connection(r.plan.receives[id][tb]),
			})
		}
		r.blocks = append(r.blocks, k.blocks...)
		r.ranks = append(r.ranks, k)
	}
	// Polling is only worth it if the threadblock that is waited for can run meanwhile.
	r.spins = 4
	if len(r.blocks) <= runtime.GOMAXPROCS(0) {
		r.spins = 500
	}
}

// reset writes every rank's input, and poison everywhere else.
func (r *run) reset() {
	poison := data.Poison(r.reference.DType, r.reference.Op, r.plan.collective.Reduces())
	r.each(func(k *rank) {
		for b := range k.memory {
			data.Spread(k.memory[b].aside, r.layout.ElemBytes, poison)
		}
		r.reference.Init(k.id, &k.buffers)
	})
}

// wrong counts the elements that differ from the reference, and those written outside of
// all buffers.
func (r *run) wrong() int64 {
	var wrong atomic.Int64
	r.each(func(k *rank) {
		n := r.reference.Wrong(k.id, &k.buffers)
		for _, g := range k.guarded {
			n += (g.Damaged() + int64(r.layout.ElemBytes) - 1) / int64(r.layout.ElemBytes)
		}
		wrong.Add(n)
	})
	return wrong.Load()
}

// each calls f for every rank, several at a time.
func (r *run) each(f func(*rank)) {
	next := make(chan *rank)
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(r.ranks)) {
		all.Go(func() {
			for k := range next {
				if !r.stopped.Load() {
					f(k)
				}
			}
		})
	}
	for _, k := range r.ranks {
		next <- k
	}
	close(next)
	all.Wait()
}

// launch starts the threadblocks; each waits for the first iteration.
func (r *run) launch() {
	for _, b := range r.blocks {
		r.workers.Go(b.work)
	}
}

// stop stops the threadblocks wherever they are, and waits until all have stopped.
func (r *run) stop() {
	r.stopped.Store(true)
	for _, b := range r.blocks {
		b.wake()
	}
	r.workers.Wait()
}

// finished counts a threadblock that has finished the iteration. The rank's last one
// divides for avg, and the last of all reads the clock.
func (k *rank) finished() {
	if k.left.Add(-1) > 0 {
		return
	}
	if k.run.reference.Op == data.Avg {
		k.run.reference.Average(k.id, &k.buffers)
	}
	if k.run.left.Add(-1) == 0 {
		k.run.ended <- time.Now()
	}
}

// begin starts iteration i. busy reports whether any rank has a threadblock.
func (r *run) begin(i int) (begun time.Time, busy bool) {
	ranks := int32(0)
	for _, k := range r.ranks {
		k.left.Store(int32(len(k.blocks)))
		if len(k.blocks) > 0 {
			ranks++
		}
	}
	r.left.Store(ranks)
	begun = time.Now()
	r.start.post(uint64(i) + 1)
	return begun, ranks > 0
}

// iteration runs iteration i and returns its time. The error is ctx's, or a deadlock.
func (r *run) iteration(ctx context.Context, i int) (time.Duration, error) {
	begun, busy := r.begin(i)
	if !busy {
		return time.Nanosecond, nil
	}
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	end, err := r.end(ctx, i, watch.C)
	if err != nil {
		return 0, err
	}
	return max(end.Sub(begun), time.Nanosecond), nil
}

// end waits for the end of an iteration, and looks for a deadlock at every tick.
func (r *run) end(ctx context.Context, iteration int, ticks <-chan time.Time) (time.Time, error) {
	var seen watchdog
	for {
		select {
		case end := <-r.ended:
			return end, nil
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-ticks:
		}
		// Look for the end first: it may have come long before a late tick, and after it
		// nothing moves, as in a deadlock.
		select {
		case end := <-r.ended:
			return end, nil
		default:
		}
		if err := seen.look(r, iteration); err != nil {
			return time.Time{}, err
		}
		executor.Progress(ctx, int64(seen.progress)+1)
	}
}
