package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/topologies"
)

func native(t testing.TB, algorithm, collectiveName string, settings map[string]string) executor.Trial {
	return executor.Trial{
		Native:     &executor.Native{Algorithm: algorithm, Settings: settings},
		Collective: collective.Spec{Name: collectiveName, Ranks: 2},
		Topology:   executortest.Pair(t), Bytes: 64, Protocol: topologies.Simple, DType: "f32", Op: "sum", Iters: 1,
	}
}

func TestAlgorithmsOfTheExecutor(t *testing.T) {
	h := executortest.Start(t, "library", host.Options{})
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
		{trial: executortest.Trial(t, 8), says: "runs no programs", is: executor.ErrUnsupported},
		{trial: native(t, "ring", "nonsense", nil), says: "unknown collective"},
		{trial: change(native(t, "ring", "allreduce", nil), func(t *executor.Trial) { t.Program = executortest.Two("two") }), says: "want one of them"},
		{trial: executor.Trial{Topology: executortest.Pair(t)}, says: "without a program"},
	} {
		m, err := h.Run(t.Context(), tc.trial)
		switch {
		case tc.says == "" && (err != nil || m.Note != tc.note):
			t.Errorf("%v: %+v, %v; want %q", tc.trial.Native, m, err, tc.note)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)), tc.is != nil && !errors.Is(err, tc.is):
			t.Errorf("%v: got %v, want %q", tc.trial.Native, err, tc.says)
		}
	}
	_, err = executortest.Start(t, "well", host.Options{}).Run(t.Context(), native(t, "ring", "allreduce", nil))
	if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "no algorithms of its own") {
		t.Errorf("an executor without: %v", err)
	}
}
