package cuda

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
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

// pingPong is two ranks that throw a chunk to and fro before they swap buffers.
func pingPong(rounds int) *ir.Program {
	gpu := func(first bool) ir.GPU {
		send := ir.Step{Op: ir.Send, Count: 1}
		receive := ir.Step{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Scratch}}
		var steps []ir.Step
		for range rounds {
			if first {
				steps = append(steps, send, receive)
			} else {
				steps = append(steps, receive, send)
			}
		}
		peer := 0
		if first {
			peer = 1
		}
		receive.Dst.Buf = collective.Out
		return ir.GPU{Scratch: 1, Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: append(steps, send, receive)}}}
	}
	return &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1}, GPUs: []ir.GPU{gpu(true), gpu(false)}}
}

// traffic is how many bytes of memory a program's steps read and write, with
// what passes through slots.
func traffic(p *ir.Program, chunk int64, wire float64) float64 {
	bytes := 0.0
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			for _, s := range tb.Steps {
				n := float64(s.Count) * float64(chunk)
				if s.Op.ReadsSrc() {
					bytes += n
				}
				if s.Op == ir.Reduce {
					bytes += n
				}
				if s.Op.WritesDst() {
					bytes += n
				}
				if s.Op.Sends() {
					bytes += n * wire
				}
				if s.Op.Receives() {
					bytes += n * wire
				}
			}
		}
	}
	return bytes
}

// median of times.
func median(us []float64) float64 {
	us = slices.Sorted(slices.Values(us))
	return us[len(us)/2]
}

// TestFiguresOfGPU prints what docs/measurements/cuda.md records.
func TestFiguresOfGPU(t *testing.T) {
	g := onGPU(t)
	for _, one := range g.all {
		t.Logf("%s, compute capability %d.%d, %d SMs", one.device.Name, one.device.Major, one.device.Minor, one.device.SMs)
	}
	if err := g.use(1, data.F32); err != nil {
		t.Fatal(err)
	}
	for k := range kernelNames {
		registers, err := g.function(0, kernel(k)).Registers()
		room, e := g.room(0, kernel(k), mostThreads)
		t.Logf("kernel %s: %d registers, %d blocks of %d threads resident (%v, %v)", kernel(k), registers, room.blocks, mostThreads, err, e)
	}
	copied := copyRate(t, g)
	t.Logf("copy on the device: %.0f GB/s read and written", copied)

	pair := system(t, "fullmesh:2")
	for _, proto := range topologies.AllProtocols {
		few, many := 10, 110
		time := func(rounds int) float64 {
			return median(right(t, g, executor.Trial{Program: pingPong(rounds), Topology: pair, Bytes: 4, Protocol: proto, DType: "f32", Iters: 50, Warmup: 10}).TimesUS)
		}
		a, b := time(few), time(many)
		t.Logf("%v: a hop takes %.2f us (%d rounds %.1f us, %d rounds %.1f us)", proto, (b-a)/float64(2*(many-few)), few, a, many, b)
	}

	for _, n := range []int{1, 8, 16} {
		for _, proto := range topologies.AllProtocols {
			for _, f := range instances(t, 1, 8, proto, n) {
				if c := f.program.Collective; c.InPlace && (c.Name == "allreduce" || c.Name == "allgather") {
					figures(t, g, f, n, proto, copied)
				}
			}
		}
	}
}

// figures times a program at a few sizes, and says how much of what the device
// copies at its memory traffic is.
func figures(t *testing.T, g *gpus, f family, instances int, proto topologies.Proto, copied float64) {
	wire := float64(wires[proto].line) / float64(wires[proto].data)
	full, err := collective.New(f.program.Collective)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int64{1 << 10, 64 << 10, 4 << 20}
	if instances > 1 {
		sizes = []int64{16 << 20, 256 << 20}
	}
	for _, bytes := range sizes {
		m, err := runTrial(context.Background(), g, defaults(), executor.Trial{
			Program: f.program, Topology: system(t, "fullmesh:8"), Bytes: bytes, Protocol: proto, TileBytes: 128 << 10, DType: "f32", Op: "sum", Iters: 20, Warmup: 5,
		})
		if err != nil {
			t.Logf("%v %s ×%d, %d bytes: %v", proto, f.name, instances, bytes, err)
			continue
		}
		us := median(m.TimesUS)
		rate := traffic(f.program, bytes/int64(full.LoopChunks()), wire) / us / 1e3
		t.Logf("%v %s ×%d, %d bytes: %.2f us, memory traffic %.0f GB/s, %.0f %% of a copy's; %d wrong; %s", proto, f.name, instances, bytes, us, rate, 100*rate/copied, m.Wrong, m.Note)
	}
}

// copyRate is what the device's own copies reach, reading and writing counted.
func copyRate(t *testing.T, g *gpus) float64 {
	t.Helper()
	const bytes = 1 << 30
	one := g.all[0]
	from, err := one.c.Alloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer one.c.FreeMemory(from)
	to, err := one.c.Alloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer one.c.FreeMemory(to)
	var times []float64
	for range 10 {
		us, err := g.timed(context.Background(), 1, func() error { return one.c.Copy(to, from, bytes, one.stream) })
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, us)
	}
	return 2 * bytes / median(times) / 1e3
}
