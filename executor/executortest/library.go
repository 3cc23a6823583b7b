//go:build unix

package executortest

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/serve"
)

// library is an executor that has algorithms of its own and runs no programs.
type library struct{ ranks int }

func init() {
	strangers["library"] = func() { serve.Main(library{4}); os.Exit(0) }
	strangers["lonely"] = func() { serve.Main(library{1}); os.Exit(0) } // one rank at most, as on a machine with one GPU
}

func (l library) Describe(context.Context) (executor.Description, error) {
	return executor.Description{
		Name: "library", Version: "1", MaxRanks: l.ranks, MaxBytes: 1 << 20, Devices: []string{"H100", "H100"},
		Protocols: []string{"LL", "Simple"}, DTypes: []string{"f32"}, Operations: []string{"sum"},
		NativeOnly: true, Fingerprint: map[string]string{"version": "1"},
		Native: []executor.NativeAlgorithm{
			{Algorithm: "ring", Protocols: []string{"Simple"}, Settings: map[string][]string{"channels": {"8", "4"}}},
			{Algorithm: "tree", Collectives: []string{"allreduce"}},
			{Algorithm: "absent", Collectives: []string{"allreduce"}},
		},
	}, nil
}

func (l library) Run(_ context.Context, t executor.Trial) (executor.Measurement, error) {
	if t.Program != nil || t.Native == nil {
		return executor.Measurement{}, errors.New("not an algorithm of mine")
	}
	if t.Collective.Ranks > l.ranks {
		return executor.Measurement{}, fmt.Errorf("%d ranks on %d GPUs", t.Collective.Ranks, l.ranks)
	}
	c := t.Collective
	c.Chunks = 1
	if _, err := collective.New(c); err != nil {
		return executor.Measurement{}, err
	}
	if t.Native.Algorithm == "absent" {
		return executor.Measurement{}, fmt.Errorf("no such algorithm here: %w", executor.ErrUnsupported)
	}
	return executor.Measurement{TimesUS: []float64{1}, Note: t.Native.String() + " " + c.Name}, nil
}
