package cuda

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Version changes whenever the same trial would do other work.
const Version = "1"

// devicesVariable says how many GPUs to use, where not all.
const devicesVariable = "COLLTUNE_EXECUTOR_CUDA_DEVICES"

// backend is the GPUs as an executor. They are brought up when first asked for:
// a process that only lists executors never touches the driver.
type backend struct {
	mu sync.Mutex
	g  *gpus
}

// New is the back end.
func New() executor.Executor { return &backend{} }

// open brings the GPUs up, where they are not.
func (b *backend) open() (*gpus, error) {
	if b.g != nil {
		return b.g, nil
	}
	most := 0
	if n := os.Getenv(devicesVariable); n != "" {
		var err error
		if most, err = strconv.Atoi(n); err != nil || most < 1 {
			return nil, fmt.Errorf("%s=%s: want a number of GPUs, 1 or more", devicesVariable, n)
		}
	}
	g, err := openGPUs(most)
	if err == nil {
		b.g = g
	}
	return g, err
}

// Describe brings the GPUs up and says what they are.
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
	protocols := make([]string, len(topologies.AllProtocols))
	for i, p := range topologies.AllProtocols {
		protocols[i] = p.String()
	}
	n := strconv.Itoa(len(g.all))
	return executor.Description{
		Name:       "cuda",
		Version:    Version,
		Devices:    names,
		Protocols:  protocols,
		DTypes:     collective.DTypes(),
		Operations: data.Operations(),
		Fingerprint: map[string]string{
			"version":          Version,
			"kernels":          kernelsHash(),
			"device":           strings.Join(kinds, ", "),
			"devices":          n,
			"ranks_per_device": "ranks/" + n + " rounded up", // a program's ranks are in its key
			"driver":           fmt.Sprintf("CUDA %d.%d, %s", version/1000, version%1000/10, driverModule()),
		},
	}, nil
}

// kernelsHash tells builds of the kernels apart.
func kernelsHash() string {
	h := sha256.New()
	for i := range collective.DTypes() {
		if text, err := ptxOf(data.DType(i)); err == nil {
			h.Write(text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// driverModule is the kernel driver's version, which the library does not tell.
func driverModule() string {
	text, err := os.ReadFile("/sys/module/nvidia/version")
	if err != nil {
		return "module of unknown version"
	}
	return "module " + strings.TrimSpace(string(text))
}

// Run runs one trial on as many GPUs as it has ranks, or all.
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
	m, err := runTrial(ctx, g, t)
	if driver.Fatal(err) {
		// Nothing of the contexts is of use any more: the host replaces this
		// process.
		b.g = nil
		return executor.Measurement{}, fmt.Errorf("%w: %w", executor.ErrDeviceLost, err)
	}
	return m, err
}

// Needs says what the back end would need and what of it is there. It loads the
// driver's library and asks it nothing: a broken driver must not end a doctor.
func Needs() []executor.Finding {
	d, err := driver.Load()
	if err != nil {
		return []executor.Finding{{What: "libcuda", Detail: err.Error()}}
	}
	return []executor.Finding{
		{What: "libcuda", Found: true, Detail: d.Library},
		{What: "kernels", Found: true, Detail: "embedded, for compute capability 7.0 and later; `executor check cuda` looks at the GPUs"},
	}
}
