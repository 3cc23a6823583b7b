//go:build unix

package executortest

import (
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// Two returns a program of two ranks that send each other a chunk.
func Two(name string) *ir.Program {
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: []ir.Step{
			{Op: ir.Send, Count: 1},
			{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out}},
		}}}}
	}
	return &ir.Program{
		Name:       name,
		Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1},
		GPUs:       []ir.GPU{gpu(1), gpu(0)},
	}
}

// Pair returns a topology of two ranks.
func Pair(t testing.TB) *topologies.Topology {
	t.Helper()
	return topotest.Resolve(t, "ring:2@50GB/s", 0)
}

// Trial returns a trial of Two.
func Trial(t testing.TB, bytes int64) executor.Trial {
	return executor.Trial{Program: Two("two"), Topology: Pair(t), Bytes: bytes, Protocol: topologies.Simple, DType: "f32", Op: "sum", Iters: 1}
}

// Start starts a host with the options of Quick, and closes it at the test's end.
func Start(t testing.TB, name string, o host.Options) *host.Host {
	t.Helper()
	h, err := host.Start(t.Context(), name, Quick(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Quick returns options with a State folder and without pauses between starts.
func Quick(t testing.TB, o host.Options) host.Options {
	o.Env = append([]string{State + "=" + t.TempDir()}, o.Env...)
	o.Backoff = time.Millisecond
	return o
}
