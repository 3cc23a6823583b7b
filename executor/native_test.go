package executor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// library is an executor that has algorithms of its own and runs no programs.
type library struct{ ranks int }

func init() {
	strangers["library"] = func() { executor.Serve(library{4}); os.Exit(0) }
	strangers["lonely"] = func() { executor.Serve(library{1}); os.Exit(0) } // one rank at most, as on a machine with one GPU
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

func native(t testing.TB, algorithm, collectiveName string, settings map[string]string) executor.Trial {
	return executor.Trial{
		Native:     &executor.Native{Algorithm: algorithm, Settings: settings},
		Collective: collective.Spec{Name: collectiveName, Ranks: 2},
		Topology:   pair(t), Bytes: 64, Protocol: topologies.Simple, DType: "f32", Op: "sum", Iters: 1,
	}
}

func TestAlgorithmsOfTheExecutor(t *testing.T) {
	h := start(t, "library", executor.HostOptions{})
	d, err := h.Describe(t.Context())
	if err != nil || !d.NativeOnly || len(d.Native) != 3 || len(d.Devices) != 2 || d.MaxBytes != 1<<20 || strings.Join(d.Native[0].Settings["channels"], " ") != "8 4" {
		t.Errorf("description %+v, %v", d, err)
	}
	change := func(of executor.Trial, f func(*executor.Trial)) executor.Trial {
		f(&of)
		return of
	}
	for _, tc := range []struct {
		trial executor.Trial
		note  string
		says  string
		is    error
	}{
		{trial: native(t, "ring", "allreduce", nil), note: "ring allreduce"},
		{trial: native(t, "ring", "allgather", map[string]string{"channels": "4"}), note: "ring channels=4 allgather"},
		{trial: native(t, "tree", "allreduce", nil), note: "tree allreduce"},
		{trial: native(t, "tree", "allgather", nil), says: "tree does no allgather: want one of allreduce", is: executor.ErrUnsupported},
		{trial: native(t, "star", "allreduce", nil), says: `no algorithm "star": want one of ring, tree, absent`, is: executor.ErrUnsupported},
		{trial: native(t, "ring", "allreduce", map[string]string{"width": "4"}), says: `no setting "width": want one of channels`, is: executor.ErrUnsupported},
		{trial: change(native(t, "ring", "allreduce", nil), func(t *executor.Trial) { t.Protocol = topologies.LL }), says: "no protocol LL: want one of Simple", is: executor.ErrUnsupported},
		{trial: change(native(t, "ring", "allreduce", nil), func(t *executor.Trial) { t.Bytes = 1<<20 + 1 }), says: "at most 1048576", is: executor.ErrUnsupported},
		{trial: change(native(t, "ring", "allreduce", nil), func(t *executor.Trial) { t.Collective.Ranks = 5 }), says: "5 ranks on a topology of 2"},
		{trial: trial(t, 8), says: "runs no programs", is: executor.ErrUnsupported},
		{trial: native(t, "ring", "nonsense", nil), says: "unknown collective"},
		{trial: change(native(t, "ring", "allreduce", nil), func(t *executor.Trial) { t.Program = two("two") }), says: "want one of them"},
		{trial: executor.Trial{Topology: pair(t)}, says: "without a program"},
	} {
		m, err := h.Run(t.Context(), tc.trial)
		switch {
		case tc.says == "" && (err != nil || m.Note != tc.note):
			t.Errorf("%v: %+v, %v; want %q", tc.trial.Native, m, err, tc.note)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)), tc.is != nil && !errors.Is(err, tc.is):
			t.Errorf("%v: got %v, want %q", tc.trial.Native, err, tc.says)
		}
	}
	_, err = start(t, "well", executor.HostOptions{}).Run(t.Context(), native(t, "ring", "allreduce", nil))
	if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "no algorithms of its own") {
		t.Errorf("an executor without: %v", err)
	}
}
