//go:build unix

package executortest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/serve"
)

// Executors that fall short of the protocol in one thing each.
func init() {
	faults["deaf"] = fault{run: func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		time.Sleep(time.Duration(t.Iters) * 20 * time.Microsecond)
		return executor.Measurement{TimesUS: []float64{1}}, nil
	}}
	faults["patient"] = fault{run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		select {
		case <-time.After(time.Duration(t.Iters) * 20 * time.Microsecond):
			return executor.Measurement{TimesUS: []float64{1}}, nil
		case <-ctx.Done():
			return executor.Measurement{}, ctx.Err()
		}
	}}
	faults["never-the-same"] = fault{run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{TimesUS: []float64{float64(time.Now().UnixNano()%1e12 + 1)}}, nil
	}}
	strangers["stays"] = func() { serve.Main(fake{run: right}); select {} }
	strangers["litters"] = func() {
		_ = os.WriteFile(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "another"), nil, 0o600)
		serve.Main(fake{run: right})
		os.Exit(0)
	}
	strangers["changes"] = func() { serve.Main(&changing{}); os.Exit(0) }
	strangers["boasts"] = func() { serve.Main(boasting{}); os.Exit(0) }
	strangers["silent"] = func() { serveStranger(&stranger{runs: 1 << 30, pause: 20 * time.Microsecond}) }
}

type changing struct{ said atomic.Int64 }

func (c *changing) Describe(ctx context.Context) (executor.Description, error) {
	d, err := fake{}.Describe(ctx)
	d.Fingerprint = map[string]string{"said": fmt.Sprint(c.said.Add(1))}
	return d, err
}

func (*changing) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	return right(ctx, t)
}

type boasting struct{ fake }

func (b boasting) Describe(ctx context.Context) (executor.Description, error) {
	d, err := b.fake.Describe(ctx)
	d.DTypes = []string{"f32", "q7"}
	return d, err
}

func (boasting) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	return right(ctx, t)
}
