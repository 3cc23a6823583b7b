package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// How long a launch may take before its kernel gives up: the watchdog of the settings, but
// at most this share of the trial's remaining time, so that the kernel can report before
// the trial's deadline.
const (
	shortestLaunch = 50 * time.Millisecond
	shareOfTrial   = 3
)

// dataBlocks is the most blocks that fill or check memory.
const dataBlocks = 1024

// running is a trial in progress on a machine.
type running struct {
	m        machine
	p        *plan
	settings settings
	trial    executor.Trial
	base     []uint64 // by device
	kernel   kernel
	threads  int
	timeout  time.Duration
	fixed    bool // a graph has recorded the timeout
}

// runTrial runs a trial: once to check its result, then for its time, then once
// more to check its result.
func runTrial(ctx context.Context, m machine, s settings, t executor.Trial) (executor.Measurement, error) {
	p, err := newPlan(t, m.devices())
	if err != nil {
		return executor.Measurement{}, err
	}
	return runPlan(ctx, m, s, t, p)
}

func runPlan(ctx context.Context, m machine, s settings, t executor.Trial, p *plan) (executor.Measurement, error) {
	r := &running{m: m, p: p, settings: s, trial: t}
	launches := int64(attempts*t.Iters + t.Warmup + 2)
	if calls := p.mostCalls(); calls > 0 && launches > (1<<32-2)/calls {
		return executor.Measurement{}, fmt.Errorf("%w: up to %d launches of %d calls on a connection: flags count to %d", executor.ErrUnsupported, launches, calls, uint64(1<<32-2))
	}
	if err := m.use(len(p.devices), p.reference.DType); err != nil {
		return executor.Measurement{}, err
	}
	if n := len(p.devices); t.Protocol == topologies.LL128 && !m.wholeLines(n) {
		return executor.Measurement{}, fmt.Errorf("%w: LL128 over %d devices: the links between them do not carry 128 bytes whole, as NVLink does", executor.ErrUnsupported, n)
	}
	if err := m.resetStatus(); err != nil { // left by an earlier trial
		return executor.Measurement{}, err
	}
	m.queuedLate()
	if s.blocks {
		p.exchange = nil
	}
	if err := r.fit(); err != nil {
		return executor.Measurement{}, err
	}
	p.threads = r.threads
	measured, err := r.measure(ctx)
	if e := m.releaseAll(); e != nil && err == nil {
		return executor.Measurement{}, e
	}
	return measured, err
}

// measure uploads the plan, runs it and checks the result.
func (r *running) measure(ctx context.Context) (executor.Measurement, error) {
	if err := r.upload(); err != nil {
		return executor.Measurement{}, err
	}
	result := executor.Measurement{Checked: true}
	done := int64(0)
	progress := func() { done++; executor.Progress(ctx, done) }

	wrong, err := r.checked(ctx, r.start)
	if err != nil {
		return executor.Measurement{}, err
	}
	progress()
	r.timeLaunch(ctx) // counts for all launches of a graph
	start, err := r.m.recorded(len(r.p.devices), r.start)
	if err != nil {
		return executor.Measurement{}, err
	}
	r.fixed = r.m.launches() == "graphs"
	for range r.trial.Warmup {
		if err := r.once(ctx, start); err != nil {
			return executor.Measurement{}, err
		}
		progress()
	}
	for range r.trial.Iters {
		r.timeLaunch(ctx)
		us, err := r.m.timed(ctx, len(r.p.devices), start)
		if err = r.explain(ctx, err); err != nil {
			return executor.Measurement{}, err
		}
		result.TimesUS = append(result.TimesUS, us)
		progress()
	}
	again, err := r.checked(ctx, start)
	if err != nil {
		return executor.Measurement{}, err
	}
	result.Wrong = max(wrong, again)
	if result.Note, err = r.note(ctx); err != nil {
		return executor.Measurement{}, err
	}
	return result, nil
}

// upload allocates memory, and writes tables, zeros and guards. ErrUnsupported: a device
// has too little.
func (r *running) upload() error {
	r.base = make([]uint64, len(r.p.devices))
	for i := range r.p.devices {
		d := &r.p.devices[i]
		free, err := r.m.free(i)
		if err != nil {
			return err
		}
		if d.bytes > free {
			return fmt.Errorf("%w: device %d would hold %d bytes for its %d ranks, and has %d left", executor.ErrUnsupported, i, d.bytes, len(d.ranks), free)
		}
		if r.base[i], err = r.m.alloc(i, d.bytes); err != nil {
			return err
		}
	}
	for i := range r.p.devices {
		d, at := &r.p.devices[i], r.base[i]
		if err := r.m.set(i, at, d.bytes, data.Guard); err != nil {
			return err
		}
		if err := r.m.set(i, at+uint64(d.zeroFrom), d.zeroTo-d.zeroFrom, 0); err != nil {
			return err
		}
		for _, w := range r.p.writes(i, r.base) {
			if len(w.bytes) == 0 {
				continue
			}
			if err := r.m.write(i, at+uint64(w.at), w.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *running) launchRecord(device int) launchRecord {
	p, d, at := r.p, &r.p.devices[device], r.base[device]
	l := launchRecord{
		Blocks: at + uint64(d.tables.blocks), Chunks: at + uint64(d.tables.chunks),
		Dependencies: at + uint64(d.tables.dependencies), Results: at + uint64(d.tables.results),
		Status: r.m.status(), Claim: at + uint64(d.claim),
		Timeout: uint64(r.timeout.Nanoseconds()), SlotBytes: uint64(p.slotBytes),
		Tiles: uint32(p.tiles), ChunkElements: uint32(p.reference.Layout.ChunkElements), TileElements: uint32(p.tileElements),
		PerCall: uint32(p.perCall), Slots: uint32(p.slots), Reduction: uint32(p.reference.Op),
	}
	if x := p.exchange; x != nil {
		l.Blocks = at + uint64(d.tables.exchanges)
		l.Parts, l.Arms = uint32(x.records.parts), uint32(x.records.arms)
	}
	l.Ordered = uint32(p.ordered)
	if len(p.devices) > 1 {
		l.System = 1
	}
	return l
}

// start launches the program on all devices.
func (r *running) start() error {
	for i := range r.p.devices {
		if len(r.p.devices[i].blocks) == 0 {
			continue
		}
		if err := r.m.launch(i, launch{r.kernel, r.blocks(i), r.threads, true, encode(r.launchRecord(i))}); err != nil {
			return err
		}
	}
	return nil
}

// once runs the program and waits for its end.
func (r *running) once(ctx context.Context, start func() error) error {
	r.timeLaunch(ctx)
	err := start()
	if e := r.m.wait(ctx); err == nil {
		err = e
	}
	return r.explain(ctx, err)
}

// timeLaunch sets the timeout of the next launches.
func (r *running) timeLaunch(ctx context.Context) {
	if r.fixed {
		return
	}
	r.timeout = r.settings.watchdog
	if deadline, ok := ctx.Deadline(); ok {
		r.timeout = max(min(r.timeout, time.Until(deadline)/shareOfTrial), shortestLaunch)
	}
}

// checked runs the program on fresh inputs, and counts the wrong elements.
func (r *running) checked(ctx context.Context, start func() error) (int64, error) {
	for i := range r.p.devices {
		for _, c := range r.p.initial(i, r.base[i]) {
			if err := r.fill(i, c); err != nil {
				return 0, err
			}
		}
		if err := r.m.set(i, r.base[i]+uint64(r.p.devices[i].wrong), 8, 0); err != nil {
			return 0, err
		}
	}
	if err := r.m.wait(ctx); err != nil {
		return 0, err
	}
	if err := r.once(ctx, start); err != nil {
		return 0, err
	}
	for i := range r.p.devices {
		if err := r.fill(i, call{referenceKernel, encode(r.p.compare(i, r.base[i], false))}); err != nil {
			return 0, err
		}
	}
	if err := r.m.wait(ctx); err != nil {
		return 0, err
	}
	wrong := int64(0)
	for i := range r.p.devices {
		var count [8]byte
		if err := r.m.read(i, r.base[i]+uint64(r.p.devices[i].wrong), count[:]); err != nil {
			return 0, err
		}
		wrong += int64(binary.LittleEndian.Uint64(count[:]))
		damaged, err := r.damaged(i)
		if err != nil {
			return 0, err
		}
		wrong += damaged
	}
	return wrong, nil
}

// damaged counts the bytes of guards that the program has overwritten.
func (r *running) damaged(device int) (int64, error) {
	damaged := int64(0)
	for _, s := range r.p.devices[device].guarded {
		for _, at := range []int64{s.at - data.GuardBytes, s.at + s.bytes} {
			var guard [data.GuardBytes]byte
			if err := r.m.read(device, r.base[device]+uint64(at), guard[:]); err != nil {
				return 0, err
			}
			for _, b := range guard {
				if b != data.Guard {
					damaged++
				}
			}
		}
	}
	return damaged, nil
}

// fill launches a kernel that fills or checks memory.
func (r *running) fill(device int, c call) error {
	limits, err := r.m.limits(device, c.kernel, maxThreads)
	if err != nil {
		return err
	}
	return r.m.launch(device, launch{c.kernel, min(dataBlocks, limits.blocks), min(maxThreads, limits.threads), false, c.parameter})
}

// explain returns the error of a launch: a StuckError if its kernels gave up.
func (r *running) explain(ctx context.Context, err error) error {
	gone := ctx.Err()
	if err != nil && gone == nil || errors.Is(gone, context.Canceled) {
		return errors.Join(gone, err)
	}
	switch s, e := r.m.readStatus(); {
	case e != nil:
		return errors.Join(gone, e)
	case s.Waiting != 0:
		if r.p.exchange != nil {
			s = r.p.waits(s)
		}
		return &StuckError{Rank: int(s.Rank), Threadblock: int(s.Threadblock), Step: int(s.Step), Tile: int(s.Tile), After: r.timeout, what: s}
	}
	return gone
}

// StuckError reports a program that did not end. It names one of the threadblocks that
// waited, and the event it waited for.
type StuckError struct {
	Rank, Threadblock, Step, Tile int
	After                         time.Duration
	what                          statusRecord
}

// Error says which threadblock waits for what, and for how long it has.
func (e *StuckError) Error() string {
	what := ""
	switch e.what.Waiting {
	case 1:
		what = fmt.Sprintf("rank %d to take a message", e.what.Peer)
	case 2:
		what = fmt.Sprintf("a message of rank %d", e.what.Peer)
	case 3:
		what = fmt.Sprintf("step %d of threadblock %d", e.what.PeerStep, e.what.Peer)
	default:
		what = "the other threadblocks of its rank"
	}
	return fmt.Sprintf("the program stands still: rank %d threadblock %d step %d, tile %d, has waited %s for %s", e.Rank, e.Threadblock, e.Step, e.Tile, e.After.Round(time.Millisecond), what)
}

// note returns how the trial was run, for the measurement.
func (r *running) note(ctx context.Context) (string, error) {
	parts := []string{fmt.Sprintf("ranks per device %d", r.p.ranksPerDevice()), fmt.Sprintf("threads %d", r.threads)}
	switch {
	case r.p.exchange != nil:
		parts = append(parts, "a block a rank")
	case r.p.ordered == fenced:
		parts = append(parts, "messages fenced")
	}
	if n := r.m.queuedLate(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d times with the host's calls", n, r.trial.Iters))
	}
	empty, err := r.launchCost(ctx)
	if err != nil {
		return "", err
	}
	what := "launch"
	if r.m.launches() == "graphs" {
		what = "graph"
	}
	return strings.Join(append(parts, fmt.Sprintf("empty %s %.2f us", what, empty)), ", "), nil
}

// launchCost returns the time of an empty cooperative launch of the same grid in
// microseconds: the shortest of five.
func (r *running) launchCost(ctx context.Context) (float64, error) {
	start, err := r.m.recorded(len(r.p.devices), func() error {
		for d := range r.p.devices {
			if len(r.p.devices[d].blocks) == 0 {
				continue
			}
			if err := r.m.launch(d, launch{emptyKernel, r.blocks(d), r.threads, true, encode(launchRecord{})}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	least := 0.0
	for i := range 5 {
		us, err := r.m.timed(ctx, len(r.p.devices), start)
		if err != nil {
			return 0, err
		}
		if i == 0 || us < least {
			least = us
		}
	}
	return least, nil
}
