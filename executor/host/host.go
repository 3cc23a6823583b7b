package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// maxDeviceLosses is how many trials in a row may lose the device, each on two processes,
// before the executor is lost: more than the programs of one faulty family, and few enough
// not to go on for hours.
const maxDeviceLosses = 10

// maxTries is how many processes a trial may kill.
const maxTries = 2

// Host is an executor in a process of its own, started again when it dies. It
// runs one trial at a time; calls wait for each other.
type Host struct {
	starter *Starter

	mu           sync.Mutex // held through a call
	worker       *Worker    // nil: not running
	failed       int        // starts and calls that failed in a row
	deviceLosses int        // trials in a row that lost the device
	desc         executor.Description
	described    bool
	programs     hashCache[ir.Program]
	topos        hashCache[topologies.Topology]
	closed       bool
}

// Start finds the executor called name, starts it and asks for its description. The caller
// closes the host. A name is that of a configured executor, of a built-in, of a plugin in
// o.Dirs or on PATH (colltune-executor-NAME), or a path. ErrNotFound: there is none of that
// name; ErrUnavailable: this machine can't have it; ErrSettings: its settings are wrong;
// ErrLost: it doesn't start.
func Start(ctx context.Context, name string, o Options) (*Host, error) {
	starter, err := NewStarter(name, o)
	if err != nil {
		return nil, err
	}
	h := &Host{starter: starter}
	h.programs.of = (*ir.Program).Hash
	h.topos.of = (*topologies.Topology).Hash
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ensureWorker(ctx); err != nil {
		starter.Close()
		return nil, err
	}
	return h, nil
}

// Describe returns the description that the executor gave when it was started. ErrClosed:
// after Close.
func (h *Host) Describe(context.Context) (executor.Description, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return executor.Description{}, executor.ErrClosed
	}
	d := h.desc
	d.Fingerprint = maps.Clone(d.Fingerprint)
	return d, nil
}

// Run runs one trial. If the executor dies it is started again and the trial tried once
// more, since the crash may have had another cause. The second time the error is a
// CrashError, or ErrLost after too many trials that lost the device. A trial that timed out
// isn't tried again.
func (h *Host) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return executor.Measurement{}, executor.ErrClosed
	}
	if err := h.accepts(&t); err != nil {
		return executor.Measurement{}, err
	}
	program, topology := t.NativeKey(), h.topos.get(t.Topology)
	if t.Program != nil {
		program = h.programs.get(t.Program)
	}
	for tries := 1; ; tries++ {
		if err := h.ensureWorker(ctx); err != nil {
			return executor.Measurement{}, err
		}
		m, err := h.worker.Run(ctx, t, program, topology)
		var crash *executor.CrashError
		var timeout *executor.TimeoutError
		switch {
		case err == nil:
			h.failed, h.deviceLosses = 0, 0
			return m, m.Validate(t.Iters)
		case errors.As(err, &crash):
			h.dropWorker()
			h.failed++
			if tries == maxTries && crash.DeviceLost {
				if h.deviceLosses++; h.deviceLosses >= maxDeviceLosses {
					return executor.Measurement{}, &executor.LostError{Executor: h.starter.Name(), Starts: maxTries * h.deviceLosses, Trials: h.deviceLosses, Last: err}
				}
			}
			if tries == maxTries {
				return executor.Measurement{}, err
			}
		case errors.As(err, &timeout):
			h.dropWorker()
			return executor.Measurement{}, err
		case ctx.Err() != nil:
			h.dropWorker() // it may still be running the trial
			return executor.Measurement{}, ctx.Err()
		default:
			h.failed = 0
			return executor.Measurement{}, err
		}
	}
}

// accepts returns an error for an invalid trial, and one that wraps ErrUnsupported for a
// trial that the executor's description rules out.
func (h *Host) accepts(t *executor.Trial) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if err := h.desc.Refuses(t); err != nil {
		return fmt.Errorf("executor %s: %w: %w", h.starter.Name(), err, executor.ErrUnsupported)
	}
	return nil
}

// ensureWorker starts an executor unless one is running.
func (h *Host) ensureWorker(ctx context.Context) error {
	if h.worker != nil && h.worker.alive() {
		return nil
	}
	h.dropWorker()
	for starts := 1; ; starts++ {
		if h.failed > 0 {
			if err := h.starter.Pause(ctx, h.failed); err != nil {
				return err
			}
		}
		w, err := h.starter.Start(ctx)
		if err == nil {
			if err := h.starter.Options.Identity.same(w.Description); err != nil {
				w.Stop()
				return &executor.LostError{Executor: h.starter.Name(), Starts: starts, Last: fmt.Errorf("came back changed: %w", err)}
			}
			h.worker, h.desc, h.described = w, w.Description, true
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if (errors.Is(err, executor.ErrUnavailable) || errors.Is(err, executor.ErrSettings)) && !h.described {
			return err
		}
		h.failed++
		if starts == h.starter.Options.Starts {
			return &executor.LostError{Executor: h.starter.Name(), Starts: starts, Last: err}
		}
	}
}

// dropWorker ends the running executor, if there is one.
func (h *Host) dropWorker() {
	if h.worker != nil {
		h.worker.Stop()
		h.worker = nil
	}
}

// Close ends the executor and everything it started. It waits for a call in
// progress; cancel that call's context to end it sooner. An error is that of removing
// the executor's sockets; a second call returns nil.
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
	return h.starter.Close()
}
