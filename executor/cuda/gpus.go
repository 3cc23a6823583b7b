package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/data"
)

// gpus is the machine of this host's GPUs.
type gpus struct {
	d   *driver.Driver
	all []*gpu

	reached int          // the first devices that have access to each other's memory
	whole   bool         // lines of 128 bytes arrive whole between them
	host    *driver.Host // memory for the status
	dtype   data.DType   // type of the kernels in use
	code    code
	graph   bool // programs are timed as graphs
	graphs  []*driver.Graph
	ahead   time.Duration // how long each device is kept busy while launches are queued
	late    int           // times that include the host's calls: see timed
}

// gpu is a GPU with its context.
type gpu struct {
	device  driver.Device
	c       *driver.Context
	stream  driver.Stream
	from    driver.Event
	to      driver.Event
	modules map[data.DType]*kernels
	memory  []driver.Address
}

// kernels are one element type's, on one device.
type kernels struct {
	module *driver.Module
	by     [len(kernelNames)]*driver.Function
}

// leastMajor is the first compute capability with a memory model for loads and stores.
const leastMajor = 7

// statusBytes is the size of a statusRecord, which has a line to itself.
const statusBytes = 64

// openGPUs opens the GPUs that can run the kernels, at most as many as the settings say,
// and loads the kernels of one type on the first of them, because the compiler is part of
// the fingerprint.
func openGPUs(s settings) (*gpus, error) {
	most := s.devices
	d, err := driver.Open()
	if driver.Unavailable(err) {
		err = executor.Unavailable(err)
	}
	if err != nil {
		return nil, err
	}
	devices, err := d.Devices()
	if err != nil {
		return nil, err
	}
	if s.graph {
		if err := d.Graphs(); errors.Is(err, driver.ErrNoGraphs) {
			return nil, executor.Unavailable(fmt.Errorf("graph is set for executor cuda: %w", err))
		} else if err != nil {
			return nil, err
		}
	}
	g := &gpus{d: d, graph: s.graph}
	var unfit []error
	for _, v := range devices {
		switch {
		case most > 0 && len(g.all) == most:
		case v.Major < leastMajor:
			unfit = append(unfit, fmt.Errorf("device %d, %s, has compute capability %d.%d: want %d.0 or more", v.Index, v.Name, v.Major, v.Minor, leastMajor))
		case !v.Cooperative || !v.HostMemory:
			unfit = append(unfit, fmt.Errorf("device %d, %s, has no cooperative launches or sees no host memory", v.Index, v.Name))
		default:
			g.all = append(g.all, &gpu{device: v, modules: map[data.DType]*kernels{}})
		}
	}
	if len(g.all) == 0 {
		return nil, executor.Unavailable(errors.Join(append([]error{fmt.Errorf("no CUDA device that can run programs among %d", len(devices))}, unfit...)...))
	}
	for _, one := range g.all {
		if err := one.open(); err != nil {
			return nil, errors.Join(fmt.Errorf("device %d, %s: %w", one.device.Index, one.device.Name, err), g.close())
		}
	}
	if g.host, err = g.all[0].c.AllocHost(statusBytes); err != nil {
		return nil, errors.Join(err, g.close())
	}
	g.reached = 1
	g.whole = true
	if err := g.compile(s.compiler); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, g.resetStatus()
}

func (g *gpu) open() (err error) {
	if g.c, err = g.device.Retain(); err != nil {
		return err
	}
	if g.stream, err = g.c.NewStream(); err != nil {
		return err
	}
	if g.from, err = g.c.NewEvent(); err != nil {
		return err
	}
	g.to, err = g.c.NewEvent()
	return err
}

// close releases everything, and returns the errors of doing so.
func (g *gpus) close() error {
	err := g.releaseAll()
	if g.host != nil {
		err = errors.Join(err, g.host.Free())
		g.host = nil
	}
	for _, one := range g.all {
		if one.c == nil {
			continue
		}
		for _, k := range one.modules {
			err = errors.Join(err, k.module.Unload())
		}
		for _, e := range []driver.Event{one.from, one.to} {
			if e != 0 {
				err = errors.Join(err, one.c.DestroyEvent(e))
			}
		}
		if one.stream != 0 {
			err = errors.Join(err, one.c.DestroyStream(one.stream))
		}
		err = errors.Join(err, one.c.Release())
		one.c, one.stream, one.from, one.to, one.modules = nil, 0, 0, 0, map[data.DType]*kernels{}
	}
	return err
}

func (g *gpus) devices() int { return len(g.all) }

func (g *gpus) use(n int, d data.DType) error {
	for ; g.reached < n; g.reached++ {
		if err := g.reach(g.reached); err != nil {
			return err
		}
	}
	g.dtype = d
	for _, one := range g.all[:n] {
		if err := one.load(d, &g.code); err != nil {
			return fmt.Errorf("device %d, %s: %w", one.device.Index, one.device.Name, err)
		}
	}
	return nil
}

// reach gives a device and all before it access to each other's memory.
func (g *gpus) reach(i int) error {
	for _, other := range g.all[:i] {
		for _, pair := range [][2]*gpu{{g.all[i], other}, {other, g.all[i]}} {
			memory, atomics, err := pair[0].device.Reaches(&pair[1].device)
			if err != nil {
				return err
			}
			if !memory {
				return fmt.Errorf("%w: device %d cannot reach the memory of device %d; %s=1 has all ranks share one", executor.ErrUnsupported, pair[0].device.Index, pair[1].device.Index, devicesVariable)
			}
			g.whole = g.whole && atomics
			switch err := pair[0].c.Reach(pair[1].c); {
			case err == nil || errors.Is(err, driver.PeerAlreadyEnabled):
			case errors.Is(err, driver.PeerUnsupported) || errors.Is(err, driver.TooManyPeers):
				return fmt.Errorf("%w: device %d to device %d: %w", executor.ErrUnsupported, pair[0].device.Index, pair[1].device.Index, err)
			default:
				return fmt.Errorf("device %d to device %d: %w", pair[0].device.Index, pair[1].device.Index, err)
			}
		}
	}
	return nil
}

func (g *gpus) wholeLines(n int) bool { return n == 1 || g.whole }

func (g *gpus) function(device int, k kernel) *driver.Function {
	return g.all[device].modules[g.dtype].by[k]
}

func (g *gpus) limits(device int, k kernel, threads int) (traits, error) {
	f := g.function(device, k)
	most, err := f.Threads()
	if err != nil {
		return traits{}, err
	}
	each, err := f.Resident(min(threads, most))
	return traits{blocks: each * g.all[device].device.SMs, threads: most}, err
}

func (g *gpus) free(device int) (int64, error) { return g.all[device].c.Free() }

func (g *gpus) alloc(device int, bytes int64) (uint64, error) {
	one := g.all[device]
	at, err := one.c.Alloc(bytes)
	if err != nil {
		return 0, fmt.Errorf("%d bytes on device %d: %w", bytes, one.device.Index, err)
	}
	one.memory = append(one.memory, at)
	return uint64(at), nil
}

func (g *gpus) write(device int, address uint64, b []byte) error {
	return g.all[device].c.Write(driver.Address(address), b)
}

func (g *gpus) read(device int, address uint64, b []byte) error {
	return g.all[device].c.Read(driver.Address(address), b)
}

func (g *gpus) set(device int, address uint64, bytes int64, value byte) error {
	one := g.all[device]
	return one.c.Set(driver.Address(address), value, bytes, one.stream)
}

func (g *gpus) releaseAll() (err error) {
	for _, graph := range g.graphs {
		err = errors.Join(err, graph.Free())
	}
	g.graphs = nil
	for _, one := range g.all {
		for _, at := range one.memory {
			err = errors.Join(err, one.c.FreeMemory(at))
		}
		one.memory = nil
	}
	return err
}

func (g *gpus) launch(device int, l launch) error {
	one := g.all[device]
	err := one.c.Launch(g.function(device, l.kernel), l.blocks, l.threads, one.stream, l.parameter, l.cooperative)
	if errors.Is(err, driver.CooperativeTooLarge) { // another process has a part of the device
		err = fmt.Errorf("%w: device %d: %w", executor.ErrUnsupported, one.device.Index, err)
	}
	return err
}

// afterCancel is how long kernels may take to end once they are cancelled.
const afterCancel = 30 * time.Second

// wait polls, so that it notices when the context is done.
func (g *gpus) wait(ctx context.Context) error {
	var cancelled time.Time
	for pause := 5 * time.Microsecond; ; pause = min(pause*2, time.Millisecond) {
		busy := false
		for _, one := range g.all {
			done, err := one.c.Done(one.stream)
			if err != nil {
				return err
			}
			busy = busy || !done
		}
		switch {
		case !busy && !cancelled.IsZero():
			return ctx.Err()
		case !busy:
			return nil
		case !cancelled.IsZero() && time.Since(cancelled) > afterCancel:
			panic("kernels do not end although cancelled: the device is lost")
		case cancelled.IsZero() && ctx.Err() != nil:
			cancelled = time.Now()
			atomic.StoreUint32(&g.host.Words()[0], 1)
		}
		time.Sleep(pause)
	}
}

// How long a GPU is kept busy, for each device, while the launches to be timed are queued.
// Otherwise its first event would pass at once, and the time of a short kernel would be
// that of the host's calls. If that is too short for the host, as it may be in a virtual
// machine, it is doubled for the next time, up to maxQueueing, and slowly shortened again.
const (
	queueing    = 40 * time.Microsecond
	maxQueueing = 5 * time.Millisecond
	attempts    = 8 // from one to the other
)

// timed repeats a measurement whose launches were not queued in time. One that is late even
// after maxQueueing includes the host's calls, and is counted: all are where a launch
// returns only after its kernel has ended, as under profilers and sanitizers.
func (g *gpus) timed(ctx context.Context, devices int, start func() error) (float64, error) {
	least := time.Duration(devices) * queueing
	most := max(maxQueueing, least)
	for g.ahead = max(g.ahead, least); ; g.ahead = min(2*g.ahead, most) {
		us, inTime, err := g.timedOnce(ctx, g.all[:devices], start)
		switch {
		case err != nil:
			return 0, err
		case inTime:
			g.ahead -= g.ahead / 16
			return us, nil
		case g.ahead >= most:
			g.late++
			return us, nil
		}
	}
}

// timedOnce also reports whether all launches were queued before any device began.
func (g *gpus) timedOnce(ctx context.Context, all []*gpu, start func() error) (longest float64, inTime bool, err error) {
	for i, one := range all {
		h := launch{holdKernel, 1, 32, false, encode(holdRecord{uint64(g.ahead.Nanoseconds())})}
		if err := g.launch(i, h); err != nil {
			return 0, false, err
		}
		if err := one.c.Record(one.from, one.stream); err != nil {
			return 0, false, err
		}
	}
	err = start()
	for _, one := range all {
		if err == nil {
			err = one.c.Record(one.to, one.stream)
		}
	}
	inTime = true
	for _, one := range all {
		if err == nil {
			var begun bool
			begun, err = one.c.Passed(one.from)
			inTime = inTime && !begun
		}
	}
	if e := g.wait(ctx); err == nil {
		err = e
	}
	for _, one := range all {
		if err != nil {
			return 0, false, err
		}
		var us float64
		us, err = one.c.Between(one.from, one.to)
		longest = max(longest, us)
	}
	return longest, inTime, err
}

// queuedLate returns the number of times, since the last call, that include the host's
// calls.
func (g *gpus) queuedLate() int {
	n := g.late
	g.late = 0
	return n
}

func (g *gpus) status() uint64 { return uint64(g.host.Device) }

func (g *gpus) readStatus() (statusRecord, error) {
	w := g.host.Words()
	at := func(i int) uint32 { return atomic.LoadUint32(&w[i]) }
	return statusRecord{
		Cancel: at(0), Waiting: at(1), Rank: at(2), Threadblock: at(3), Step: at(4), Tile: at(5), Peer: int32(at(6)), PeerStep: at(7),
	}, nil
}

func (g *gpus) resetStatus() error {
	for i := range g.host.Words() {
		atomic.StoreUint32(&g.host.Words()[i], 0)
	}
	return nil
}
