package cuda

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// onGPU brings this machine's GPUs up, where they are asked for: `make test-gpu`.
func onGPU(t *testing.T) *gpus {
	t.Helper()
	if os.Getenv("COLLTUNE_GPU") == "" {
		t.Skip("COLLTUNE_GPU is not set")
	}
	g, err := openGPUs(defaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// shapes are the machines that families are compiled for: 2, 4, 8 and 16 ranks.
var shapes = []struct{ nodes, gpus int }{{1, 2}, {1, 4}, {2, 2}, {1, 8}, {2, 4}, {2, 8}}

// TestEveryFamilyOnGPU runs every family with every protocol, sizes that divide
// and that do not, types and reductions in turns.
func TestEveryFamilyOnGPU(t *testing.T) {
	g := onGPU(t)
	n := 0
	for _, shape := range shapes {
		top := system(t, fmt.Sprintf("fullmesh:%d", shape.nodes*shape.gpus))
		for _, proto := range topologies.AllProtocols {
			for _, f := range families(t, shape.nodes, shape.gpus, proto) {
				t.Run(fmt.Sprintf("%v/%s", proto, f.name), func(t *testing.T) {
					for _, bytes := range []int64{4, 1003, 65536, 3 << 20} {
						n++
						trial := executor.Trial{
							Program: f.program, Topology: top, Bytes: bytes, Protocol: proto, TileBytes: 32 << 10,
							DType: collective.DTypes()[n%10], Op: data.Operations()[n/3%5], Iters: 2, Seed: int64(n),
						}
						right(t, g, trial)
					}
				})
			}
		}
	}
}

// TestSampleOnGPU is a few small programs, for the sanitizer's tools, which take
// a hundred times as long.
func TestSampleOnGPU(t *testing.T) {
	g := onGPU(t)
	top := system(t, "fullmesh:4")
	for _, proto := range topologies.AllProtocols {
		for _, f := range families(t, 1, 4, proto) {
			if slices.Contains([]string{"ring/allreduce/1x4", "all-pairs/allreduce/1x4", "direct/alltoall/1x4"}, f.name) {
				right(t, g, executor.Trial{Program: f.program, Topology: top, Bytes: 10003, Protocol: proto, TileBytes: 1024, DType: "bf16", Op: "avg", Iters: 1, Seed: 1})
			}
		}
	}
}

// TestDeadlockOnGPU has the watchdog end a program, and the next one run.
func TestDeadlockOnGPU(t *testing.T) {
	g := onGPU(t)
	top := system(t, "fullmesh:2")
	for _, proto := range topologies.AllProtocols {
		p := pair()
		for r := range p.GPUs {
			steps := p.GPUs[r].Threadblocks[0].Steps
			steps[0], steps[1] = steps[1], steps[0]
		}
		trial := executor.Trial{Program: p, Topology: top, Bytes: 256, Protocol: proto, Iters: 1}
		if err := stuck(g, trial); err == nil {
			t.Errorf("%v: two ranks that both receive first came to an end", proto)
		} else {
			t.Log(err)
		}
		trial.Program = pair()
		right(t, g, trial)
	}
}
