package cpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// Version changes whenever a trial would do other work than before.
const Version = "1"

// machine is the executor of this machine's processors.
type machine struct{}

// New returns the executor of this machine's processors.
func New() executor.Executor { return machine{} }

// Describe describes the machine.
func (machine) Describe(context.Context) (executor.Description, error) {
	return executor.Description{
		Name:       "cpu",
		Version:    Version,
		Protocols:  topologies.ProtocolNames(),
		DTypes:     collective.DTypes(),
		Operations: data.Operations(),
		OtherLinks: true,
		Fingerprint: map[string]string{
			"version": Version,
			"cpu":     model(),
			"cores":   strconv.Itoa(runtime.GOMAXPROCS(0)),
		},
	}, nil
}

// Run runs one trial on real memory. A time is that of all ranks together, from their
// common start until the last has finished. Trials that do not fit into memory, or that
// have an unknown dtype or operation, are ErrUnsupported.
func (machine) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if t.Program == nil || t.Topology == nil {
		return executor.Measurement{}, errors.New("trial lacks its program or topology")
	}
	p, err := prepare(t.Program, t.Topology)
	if err != nil {
		return executor.Measurement{}, err
	}
	r, err := p.settings(t)
	if err != nil {
		return executor.Measurement{}, err
	}
	limit, err := memoryLimit()
	if err != nil {
		return executor.Measurement{}, err
	}
	what := fmt.Sprintf("%s of %d bytes over %d ranks", p.collective.Name, t.Bytes, t.Program.Ranks())
	r.memory = r.need()
	if err := fits(r.memory, limit, what); err != nil {
		return executor.Measurement{}, err
	}
	r.build()
	defer giveBack(r.memory)
	return r.measure(ctx, t.Warmup)
}

// measure runs all iterations. The first and the last begin with fresh inputs and are
// checked; the others run on the buffers that the one before left.
func (r *run) measure(ctx context.Context, warmup int) (executor.Measurement, error) {
	m := executor.Measurement{Checked: true}
	r.launch()
	defer r.stop()
	for i := range r.iterations {
		checked := i == 0 || i == r.iterations-1
		if checked {
			r.reset()
		}
		took, err := r.iteration(ctx, i)
		if err != nil {
			return executor.Measurement{}, err
		}
		if checked {
			m.Wrong = max(m.Wrong, r.wrong())
		}
		if i >= warmup {
			m.TimesUS = append(m.TimesUS, float64(took)/float64(time.Microsecond))
		}
	}
	return m, nil
}

// giveBack returns more than 64 MiB of a trial's memory to the system, because the next
// trial asks the system how much is free.
func giveBack(bytes int64) {
	if bytes > 64<<20 {
		debug.FreeOSMemory()
	}
}

// model returns the processor's name.
func model() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
