package main

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// fakeLibrary is an executor with native algorithms, whose times are a function of the
// trial; a mixed one runs programs too.
type fakeLibrary struct{ mixed bool }

func (l fakeLibrary) Describe(context.Context) (executor.Description, error) {
	return executor.Description{
		Name: "library", Version: "7", Deterministic: true, Fingerprint: map[string]string{"library": "7"},
		Protocols: []string{"LL", "Simple"}, DTypes: []string{"f32"}, Operations: []string{"sum"},
		NativeOnly: !l.mixed,
		Native: []executor.NativeAlgorithm{
			{Algorithm: "auto"},
			{Algorithm: "ring", Protocols: []string{"LL", "Simple"}, Settings: map[string][]string{"channels": {"8", "2", "16"}}},
			{Algorithm: "tree", Collectives: []string{"allreduce"}, Protocols: []string{"Simple"}},
			{Algorithm: "nvls", Collectives: []string{"allreduce"}, Protocols: []string{"Simple"}},
			{Algorithm: "pat", Collectives: []string{"allgather"}, Protocols: []string{"Simple"}},
		},
	}, nil
}

func (l fakeLibrary) Run(_ context.Context, t executor.Trial) (executor.Measurement, error) {
	kilobytes := float64(t.Bytes) / 1e3
	us := func(x float64) (executor.Measurement, error) {
		return executor.Measurement{TimesUS: []float64{x}, Checked: true}, nil
	}
	if t.Native == nil {
		if !l.mixed {
			return executor.Measurement{}, errors.New("not an algorithm of mine")
		}
		return us(12 + kilobytes)
	}
	if t.Collective.Ranks != len(t.Topology.Ranks) {
		return executor.Measurement{}, errors.New("another number of ranks")
	}
	switch t.Native.Algorithm {
	case "auto":
		return us(20 + kilobytes/20)
	case "tree":
		return executor.Measurement{TimesUS: []float64{1}, Wrong: 5, Checked: true}, nil
	case "nvls": // faster than links allow, as one that sums in the switches
		return us(50 + kilobytes/1e3)
	case "pat":
		os.Exit(3)
	}
	if t.Protocol == topologies.LL {
		return us(10 + kilobytes/2)
	}
	channels, err := strconv.Atoi(t.Native.Settings["channels"])
	if err != nil {
		return executor.Measurement{}, err
	}
	return us(15 + float64(channels) + kilobytes/4/float64(channels))
}
