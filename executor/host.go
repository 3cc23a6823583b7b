package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// DefaultTrialTimeout is a trial's deadline where none is given.
const DefaultTrialTimeout = 10 * time.Minute

// defaultStart is how long a start may take where nobody says. shortestStart is
// how long even an easy start may take on a busy machine.
const (
	defaultStart  = time.Minute
	shortestStart = 5 * time.Second
)

// maxDeviceOut is how many trials in a row may lose the device, each on two processes,
// before the executor is lost: more than one family's programs that do harm, and few
// enough not to be asked for hours.
const maxDeviceOut = 10

// HostOptions says how an executor is looked for and how patient its host is.
// The zero value is ready to use.
type HostOptions struct {
	// Dirs are looked through for plugins before PATH.
	Dirs []string
	// Env adds NAME=VALUE pairs to the executor's environment.
	Env []string
	// StartTimeout is how long an executor may take from its start to its
	// first Describe. 0: one minute.
	StartTimeout time.Duration
	// TrialTimeout is a trial's deadline. 0: DefaultTrialTimeout.
	TrialTimeout time.Duration
	// StuckAfter is how long a trial that has told its progress may stand
	// still, and any trial go without a heartbeat. 0: 30 seconds.
	StuckAfter time.Duration
	// Starts is how many times in a row an executor is started before it is
	// lost. 0: 3.
	Starts int
	// Backoff is the pause before the second start in a row; it doubles from
	// start to start, up to five seconds. 0: 100 ms.
	Backoff time.Duration
	// StderrBytes is how much of the executor's last output is kept for
	// reports. 0: 256 KiB.
	StderrBytes int
	// Memory is how many bytes the executor and all that it starts may use before
	// they are ended. 0: nine tenths of the machine's; below 0: any number.
	Memory int64
	// Identity holds an executor to its first description, however often it is
	// started. Several hosts of one executor share one. nil: the host's own.
	Identity *Identity
	// Quarantine remembers programs that kill executors. Several hosts may share
	// one. nil: none, and the caller counts the crashes.
	Quarantine *Quarantine
	// Logger gets what the plugin library has to say. nil: nothing is logged.
	Logger *slog.Logger
}

func (o HostOptions) withDefaults() HostOptions {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.StartTimeout, defaultStart)
	def(&o.TrialTimeout, DefaultTrialTimeout)
	def(&o.StuckAfter, 30*time.Second)
	def(&o.Backoff, 100*time.Millisecond)
	if o.Identity == nil {
		o.Identity = new(Identity)
	}
	if o.Starts == 0 {
		o.Starts = 3
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory()
	}
	if o.StderrBytes == 0 {
		o.StderrBytes = 256 << 10
	}
	return o
}

// Host is an executor in a process of its own, started again when it dies. It
// runs one trial at a time; calls wait for each other.
type Host struct {
	o       HostOptions
	command command
	sockets *sockets

	mu        sync.Mutex // held through a call
	worker    *worker    // nil: not running
	failed    int        // starts and calls that failed in a row
	deviceOut int        // trials in a row that lost the device
	desc      Description
	described bool
	programs  hashCache[ir.Program]
	topos     hashCache[topologies.Topology]
	closed    bool
}

// Start finds the executor called name, starts it and asks what it is. A name is
// that of a built-in, of a plugin in o.Dirs or on PATH (colltune-executor-NAME),
// or a path. ErrNotFound: there is none of that name; ErrUnavailable: this machine
// can't have it; ErrLost: it doesn't start.
func Start(ctx context.Context, name string, o HostOptions) (*Host, error) {
	cmd, o, err := prepareStart(name, o.withDefaults())
	if err != nil {
		return nil, err
	}
	sockets, err := newSockets(socketRoot())
	if err != nil {
		return nil, fmt.Errorf("executor %s: folder for its socket: %w", name, err)
	}
	h := &Host{o: o, command: cmd, sockets: sockets}
	h.programs.of = (*ir.Program).Hash
	h.topos.of = (*topologies.Topology).Hash
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ensureWorker(ctx); err != nil {
		sockets.close()
		return nil, err
	}
	return h, nil
}

// prepareStart finds an executor, and lets its settings override the host's
// options.
func prepareStart(name string, o HostOptions) (command, HostOptions, error) {
	cmd, err := find(name, o.Dirs)
	if err != nil {
		return cmd, o, err
	}
	if cmd.start > 0 {
		o.StartTimeout = cmd.start
	}
	if cmd.memory != 0 {
		o.Memory = cmd.memory
	}
	o.Env = append(slices.Clone(o.Env), cmd.env...)
	return cmd, o, nil
}

// Describe says what the executor is, as it did when it was started.
func (h *Host) Describe(context.Context) (Description, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return Description{}, ErrClosed
	}
	d := h.desc
	d.Fingerprint = maps.Clone(d.Fingerprint)
	return d, nil
}

// Run runs one trial. If the executor dies it is started again, and the trial
// tried once more, for the crash may have had another cause. The second time the
// answer is a CrashError, or ErrQuarantined where there is a quarantine; or ErrLost if
// every trial for long has lost the device. A trial
// that timed out isn't tried again.
func (h *Host) Run(ctx context.Context, t Trial) (Measurement, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return Measurement{}, ErrClosed
	}
	if err := h.accepts(&t); err != nil {
		return Measurement{}, err
	}
	program, topology := nativeKey(&t), h.topos.get(t.Topology)
	if t.Program != nil {
		program = h.programs.get(t.Program)
	}
	for tries := 1; ; tries++ {
		if err := h.o.Quarantine.check(program); err != nil {
			return Measurement{}, err
		}
		if err := h.ensureWorker(ctx); err != nil {
			return Measurement{}, err
		}
		m, err := h.worker.run(ctx, t, program, topology, h.o)
		var crash *CrashError
		var late *TimeoutError
		switch {
		case err == nil:
			h.failed, h.deviceOut = 0, 0
			return m, validateMeasurement(m, t.Iters)
		case errors.As(err, &crash):
			h.dropWorker()
			h.failed++
			h.o.Quarantine.recordCrash(program, err)
			if tries == maxCrashes && crash.device {
				if h.deviceOut++; h.deviceOut >= maxDeviceOut {
					return Measurement{}, &LostError{Executor: h.command.name, Starts: maxCrashes * h.deviceOut, Trials: h.deviceOut, Last: err}
				}
			}
			if tries == maxCrashes {
				if q := h.o.Quarantine.check(program); q != nil {
					err = q
				}
				return Measurement{}, err
			}
		case errors.As(err, &late):
			h.dropWorker()
			if late.Stuck {
				h.o.Quarantine.recordCrash(program, err)
			}
			return Measurement{}, err
		case ctx.Err() != nil:
			h.dropWorker() // nobody knows what it is doing now
			return Measurement{}, ctx.Err()
		default:
			h.failed = 0
			return Measurement{}, err
		}
	}
}

// accepts refuses a trial that makes no sense, or that the executor's description
// rules out.
func (h *Host) accepts(t *Trial) error {
	if err := t.validate(); err != nil {
		return err
	}
	if err := h.desc.refuses(t); err != nil {
		return fmt.Errorf("executor %s: %w: %w", h.command.name, err, ErrUnsupported)
	}
	return nil
}

// validateMeasurement refuses a measurement that can't be true, of n iterations.
func validateMeasurement(m Measurement, iters int) error {
	if len(m.TimesUS) == 0 {
		return errors.New("measurement without a time")
	}
	if most := max(iters, 1); len(m.TimesUS) > most {
		return fmt.Errorf("measurement of %d times: want at most %d, one an iteration", len(m.TimesUS), most)
	}
	for _, t := range m.TimesUS {
		if err := units.CheckTimeUS(t); err != nil {
			return fmt.Errorf("measurement with a %w", err)
		}
	}
	if m.Wrong < 0 {
		return fmt.Errorf("measurement with %d wrong elements", m.Wrong)
	}
	return nil
}

// ensureWorker starts an executor unless one is running.
func (h *Host) ensureWorker(ctx context.Context) error {
	if h.worker != nil && h.worker.process.alive() {
		return nil
	}
	h.dropWorker()
	for starts := 1; ; starts++ {
		if h.failed > 0 {
			if err := pause(ctx, backoff(h.o.Backoff, h.failed)); err != nil {
				return err
			}
		}
		c, d, err := startWorker(ctx, h.command, h.sockets.dir, h.o)
		if err == nil {
			if err := h.o.Identity.same(d); err != nil {
				c.stop()
				return &LostError{Executor: h.command.name, Starts: starts, Last: fmt.Errorf("came back as another: %w", err)}
			}
			h.worker, h.desc, h.described = c, d, true
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, ErrUnavailable) && !h.described {
			return err
		}
		h.failed++
		if starts == h.o.Starts {
			return &LostError{Executor: h.command.name, Starts: starts, Last: err}
		}
	}
}

// backoff is the pause before another start, after n failures in a row.
func backoff(first time.Duration, n int) time.Duration {
	const most = 5 * time.Second
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dropWorker ends the running executor, if there is one.
func (h *Host) dropWorker() {
	if h.worker != nil {
		h.worker.stop()
		h.worker = nil
	}
}

// Close ends the executor and everything it started. It waits for a call in
// progress; cancel that call's context to hurry it.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	if h.worker != nil {
		h.worker.disconnect()
		h.worker = nil
	}
	return h.sockets.close()
}
