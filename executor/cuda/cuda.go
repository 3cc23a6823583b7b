package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// Version changes whenever a trial would do other work than before.
const Version = "3"

// Name is the executor's name.
const Name = "cuda"

// Register registers the executor, its settings, and Needs for doctor.
func Register() {
	executor.RegisterBuiltin(Name, New)
	executor.RegisterSettings(Name, registered)
	executor.RegisterDoctor(Name, Needs)
}

// gpuExecutor is the executor of this host's GPUs. They are opened by the first call, so that a
// process that only lists executors never touches the driver.
type gpuExecutor struct {
	settings settings
	wrong    error // of the settings
	mu       sync.Mutex
	g        *gpus
}

// New returns the executor that the settings of this process describe. Wrong settings are
// the error of its Describe.
func New() executor.Executor {
	s, err := readSettings(executor.Setting)
	return &gpuExecutor{settings: s, wrong: err}
}

// open opens the GPUs, unless they are open.
func (e *gpuExecutor) open() (*gpus, error) {
	if e.g != nil || e.wrong != nil {
		return e.g, e.wrong
	}
	g, err := openGPUs(e.settings)
	if err == nil {
		e.g = g
	}
	return g, err
}

// Describe opens the GPUs and describes them. ErrUnavailable: there is no driver, or no GPU
// that can run the kernels.
func (e *gpuExecutor) Describe(context.Context) (executor.Description, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g, err := e.open()
	if err != nil {
		return executor.Description{}, err
	}
	version, err := g.d.Version()
	if err != nil {
		return executor.Description{}, err
	}
	var names, kinds []string
	for _, one := range g.all {
		v := &one.device
		names = append(names, fmt.Sprintf("%d %s", v.Index, v.Name))
		if kind := fmt.Sprintf("%s sm_%d%d %d SMs", v.Name, v.Major, v.Minor, v.SMs); len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
	}
	n := strconv.Itoa(len(g.all))
	return executor.Description{
		Name:       Name,
		Version:    Version,
		Devices:    names,
		Protocols:  topologies.ProtocolNames(),
		DTypes:     collective.DTypes(),
		Operations: data.Operations(),
		Fingerprint: map[string]string{
			"version":          Version,
			"kernels":          g.code.String(),
			"launches":         g.launches(),
			"small_messages":   e.settings.smallMessages(),
			"device":           strings.Join(kinds, ", "),
			"devices":          n,
			"ranks_per_device": "ranks/" + n + " rounded up", // a program's ranks are in its key
			"driver":           fmt.Sprintf("CUDA %d.%d, %s", version/1000, version%1000/10, driverModule()),
		},
	}, nil
}

// driverModule returns the version of the driver's kernel module, which the library does
// not have.
func driverModule() string {
	text, err := os.ReadFile("/sys/module/nvidia/version")
	if err != nil {
		return "module of unknown version"
	}
	return "module " + strings.TrimSpace(string(text))
}

// Run runs one trial, on as many GPUs as it has ranks or on all of them. ErrDeviceLost: the
// driver can't use the GPUs any more; a StuckError is a program that did not end.
func (e *gpuExecutor) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if t.Program == nil || t.Topology == nil {
		return executor.Measurement{}, errors.New("trial lacks its program or topology")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	g, err := e.open()
	if err != nil {
		return executor.Measurement{}, err
	}
	m, err := runTrial(ctx, g, e.settings, t)
	if driver.Fatal(err) {
		// The contexts can't be used any more: this process will be replaced.
		e.g = nil
		return executor.Measurement{}, fmt.Errorf("%w: %w", executor.ErrDeviceLost, err)
	}
	return m, err
}
