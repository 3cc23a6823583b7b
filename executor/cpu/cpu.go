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
	"github.com/colltune/colltune/executor/cpu/mpi"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// Version changes whenever a trial would do other work than before.
const Version = "1"

// machine is the executor of this machine's processors.
type machine struct{}

// New returns the executor of this machine's processors or, in a process that MPI launched
// with others, of all of them.
func New() executor.Executor {
	switch n := mpi.Launched(); {
	case n > 1:
		return newLeader()
	case executor.Processes() > n:
		return unconnected(executor.Processes())
	}
	return machine{}
}

// unconnected stands in for processes that were launched together, but not through MPI.
type unconnected int

func (n unconnected) error() error {
	return executor.Unavailable(fmt.Errorf("its launcher starts %d processes, of which MPI knows nothing: want --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH) with srun, or mpirun", int(n)))
}

// Describe returns the error of such a launch.
func (n unconnected) Describe(context.Context) (executor.Description, error) {
	return executor.Description{}, n.error()
}

// Run returns the same error.
func (n unconnected) Run(context.Context, executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{}, n.error()
}

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
	here := func(int) bool { return true }
	limit, err := memoryLimit(1)
	if err != nil {
		return executor.Measurement{}, err
	}
	what := fmt.Sprintf("%s of %d bytes over %d ranks", p.collective.Name, t.Bytes, t.Program.Ranks())
	r.memory = r.need(here)
	if err := fits(r.memory, limit, what); err != nil {
		return executor.Measurement{}, err
	}
	r.build(here)
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
