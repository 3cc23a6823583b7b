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

// Register makes the executor known, with its settings and what doctor says of it.
func Register() {
	executor.RegisterBuiltin(Name, New)
	executor.RegisterSettings(Name, registered)
	executor.RegisterDoctor(Name, Needs)
}

// backend is the GPUs as an executor. They are opened when first asked for, so
// that a process that only lists executors never touches the driver.
type backend struct {
	settings settings
	mistake  error // in the settings
	mu       sync.Mutex
	g        *gpus
}

// New returns the executor that the settings of this process describe.
func New() executor.Executor {
	s, err := readSettings(executor.Setting)
	return &backend{settings: s, mistake: err}
}

// open opens the GPUs, unless they are open.
func (b *backend) open() (*gpus, error) {
	if b.g != nil || b.mistake != nil {
		return b.g, b.mistake
	}
	g, err := openGPUs(b.settings)
	if err == nil {
		b.g = g
	}
	return g, err
}

// Describe opens the GPUs and says what they are.
func (b *backend) Describe(context.Context) (executor.Description, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := b.open()
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
	cache := g.all[0].device.Cache
	for _, one := range g.all {
		cache = min(cache, one.device.Cache)
	}
	n := strconv.Itoa(len(g.all))
	return executor.Description{
		Name:       Name,
		Version:    Version,
		Devices:    names,
		Protocols:  topologies.ProtocolNames(),
		DTypes:     collective.DTypes(),
		Operations: data.Operations(),
		SlotCache:  int64(cache),
		Fingerprint: map[string]string{
			"version":          Version,
			"kernels":          g.code.String(),
			"launches":         g.launches(),
			"small_messages":   b.settings.smallMessages(),
			"device":           strings.Join(kinds, ", "),
			"devices":          n,
			"ranks_per_device": "ranks/" + n + " rounded up", // a program's ranks are in its key
			"driver":           fmt.Sprintf("CUDA %d.%d, %s", version/1000, version%1000/10, driverModule()),
		},
	}, nil
}

// driverModule is the version of the kernel's driver, which the library does not
// tell.
func driverModule() string {
	text, err := os.ReadFile("/sys/module/nvidia/version")
	if err != nil {
		return "module of unknown version"
	}
	return "module " + strings.TrimSpace(string(text))
}

// Run runs one trial, on as many GPUs as it has ranks or on all of them.
func (b *backend) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if t.Program == nil || t.Topology == nil {
		return executor.Measurement{}, errors.New("trial lacks its program or topology")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := b.open()
	if err != nil {
		return executor.Measurement{}, err
	}
	m, err := runTrial(ctx, g, b.settings, t)
	if driver.Fatal(err) {
		// The contexts can't be used any more, and the host replaces this process.
		b.g = nil
		return executor.Measurement{}, fmt.Errorf("%w: %w", executor.ErrDeviceLost, err)
	}
	return m, err
}
