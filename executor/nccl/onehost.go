package nccl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/executor/nccl/debuglog"
	"github.com/colltune/colltune/internal/child"
)

// oneHost is the executor that loads the library itself: one process, and each of
// this host's GPUs is a rank.
type oneHost struct {
	settings
	known     *found
	tells     bool             // the library's log names what it runs
	confirmed map[string]error // by setting: nil if the log confirmed it
	worker    *worker          // the last one, kept for trials with the same environment
}

// Describe looks for the library and the devices, and makes one call to find whether the
// library's log can confirm algorithms.
func (o *oneHost) Describe(ctx context.Context) (executor.Description, error) {
	if o.known == nil {
		f, err := lookInChild(ctx, o.library)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, child.ErrEnded) {
				err = executor.Unavailable(err)
			}
			return executor.Description{}, fmt.Errorf("nccl: %w; tests in [executor.%s] names a folder of nccl-tests' programs to be run instead, library a path", err, Name)
		}
		if len(f.Devices) == 0 {
			return executor.Description{}, executor.Unavailable(fmt.Errorf("nccl: %s %s is here, and no device: %s", f.Name, f.Version, f.NoDevices))
		}
		log, err := o.log(ctx, nil, o.request(&executor.Trial{
			Collective: collective.Spec{Name: "allreduce", Ranks: len(f.Devices), Chunks: 1}, Bytes: probeBytes, DType: "f32", Op: "sum",
		}))
		if err != nil {
			return executor.Description{}, fmt.Errorf("nccl: %w", err)
		}
		o.tells = len(log.Choices) > 0
		o.known = f
	}
	f := o.known
	how := libraryEnvironment()
	how["library"] = f.Kind + " " + f.Version
	how["driver"] = f.Driver
	how["devices"] = countNames(f.Devices)
	how["processes"] = "1"
	maps.DeleteFunc(how, func(_, v string) bool { return v == "" })
	native := nativeAlgorithms(o.tells || o.trusted, f.Kind == "rccl", o.tries)
	native[0].Collectives = supported()
	return executor.Description{
		Name: Name, Version: f.Version, Devices: f.Devices, MaxRanks: len(f.Devices),
		Protocols: allProtocols, DTypes: collective.DTypes(), Operations: data.Operations(),
		Fingerprint: how, Native: native, NativeOnly: true,
	}, nil
}

// supported lists the collectives that the library's functions can make.
func supported() []string {
	return slices.DeleteFunc(collective.Names(), func(name string) bool { return !supports(name) })
}

func (o *oneHost) request(t *executor.Trial) request {
	return request{
		Collective: t.Collective, Bytes: t.Bytes, DType: t.DType, Op: t.Op, Iters: t.Iters, Warmup: t.Warmup, Seed: t.Seed,
	}
}

// Run measures one trial.
func (o *oneHost) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if o.known == nil {
		if _, err := o.Describe(ctx); err != nil {
			return executor.Measurement{}, err
		}
	}
	switch {
	case t.Native == nil:
		return executor.Measurement{}, unsupported("the library runs no programs without nccl-tests")
	case !slices.Contains(data.Operations(), t.Op):
		return executor.Measurement{}, unsupported("operation %q: want one of %s", t.Op, strings.Join(data.Operations(), ", "))
	case !slices.Contains(supported(), t.Collective.Name):
		return executor.Measurement{}, unsupported("the library has no %s", t.Collective.Name)
	}
	env, err := environment(t.Native, t.Protocol)
	if err != nil {
		return executor.Measurement{}, unsupported("%s", err)
	}
	key := strings.Join(env, " ")
	if t.Native.Algorithm != libraryChoice {
		if err := o.confirm(ctx, &t, key, env); err != nil {
			return executor.Measurement{}, err
		}
	}
	key = fmt.Sprintf("%s, %d ranks", key, t.Collective.Ranks)
	if o.worker == nil || o.worker.key != key {
		o.stopWorker()
		if o.worker, err = startWorker(key, env); err != nil {
			return executor.Measurement{}, err
		}
	}
	q := o.request(&t)
	r, err := o.worker.ask(ctx, question{Library: o.library, Trial: &q})
	if err != nil {
		o.stopWorker() // the failure may have broken the communicators
		return executor.Measurement{}, err
	}
	m := executor.Measurement{TimesUS: r.Answer.TimesUS, Wrong: r.Answer.Wrong, Checked: r.Answer.Checked, Note: r.Answer.Note}
	if t.Native.Algorithm != libraryChoice && !o.tells {
		m.Note = strings.Trim(m.Note+"; "+unconfirmedNote, "; ")
	}
	return m, nil
}

// Close ends the library's process.
func (o *oneHost) Close() error {
	o.stopWorker()
	return nil
}

func (o *oneHost) stopWorker() {
	if o.worker != nil {
		o.worker.Kill()
		o.worker = nil
	}
}

// confirm checks once for each setting and collective that the library's log confirms it.
// The process with the log is never timed.
func (o *oneHost) confirm(ctx context.Context, t *executor.Trial, key string, env []string) error {
	key = fmt.Sprintf("%s %s %s %s %d %d", key, t.Collective.Name, t.DType, t.Op, t.Collective.Root, t.Collective.Ranks)
	if err, known := o.confirmed[key]; known {
		return err
	}
	once := *t
	once.Iters, once.Warmup = 1, 0
	o.stopWorker() // the devices have memory for only one process
	log, err := o.log(ctx, env, o.request(&once))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case log != nil && slices.ContainsFunc(log.Warnings, lacksAlgorithm):
		err = unsupported("%s: the library has no such algorithm and protocol here", t.Native)
	case err != nil:
		return fmt.Errorf("%s: %w", t.Native, err)
	default:
		c := confirmation{tells: o.tells, trusted: o.trusted}
		if why := c.native(t, log, variableNames(env)); why != nil {
			err = unsupported("%s %s had no effect: %s", t.Native, t.Protocol, why)
		}
	}
	o.confirmed[key] = err
	return err
}

// log makes a call in a process of its own and returns the library's log, also if the call
// failed.
func (o *oneHost) log(ctx context.Context, env []string, r request) (*debuglog.Log, error) {
	dir, err := os.MkdirTemp("", "colltune-nccl-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "log")
	defer func() { // the library may have made none
		_ = os.Remove(file)
		_ = os.Remove(dir)
	}()
	w, err := startWorker("", append(append(slices.Clone(debugEnvironment), "NCCL_DEBUG_FILE="+file), env...))
	if err != nil {
		return nil, err
	}
	defer w.Kill()
	_, failed := w.ask(ctx, question{Library: o.library, Trial: &r})
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return debuglog.Read(string(text[:min(len(text), maxOutput)])), failed
}
