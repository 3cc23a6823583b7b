package cpu

import (
	"context"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// oneWay is rank 0 sending its buffer to rank 1 over one connection.
func oneWay() *ir.Program {
	return &ir.Program{
		Collective: collective.Spec{Name: "broadcast", Ranks: 2, Chunks: 1, InPlace: true},
		GPUs: []ir.GPU{
			{Threadblocks: []ir.Threadblock{{Send: 1, Recv: -1, Steps: []ir.Step{{Op: ir.Send, Count: 1}}}}},
			{Threadblocks: []ir.Threadblock{{Send: -1, Recv: 0, Steps: []ir.Step{{Op: ir.Recv, Count: 1}}}}},
		},
	}
}

// BenchmarkConnection measures one connection by protocol, with NCCL's tiles: its GB/s,
// and the time of a short message. The time is the median iteration's, without checks.
func BenchmarkConnection(b *testing.B) {
	top := system(b, "fullmesh:2")
	for _, proto := range topologies.AllProtocols {
		b.Run(proto.String(), func(b *testing.B) {
			trial := executor.Trial{Program: oneWay(), Topology: top, Bytes: 32 << 20, Protocol: proto, Iters: 5, Warmup: 1, DType: "u8"}
			var large, small float64
			for b.Loop() {
				large = medianTime(b, trial)
				short := trial
				short.Bytes, short.Iters = 8, 500
				small = medianTime(b, short)
			}
			b.ReportMetric(float64(trial.Bytes)/large/1e3, "GB/s")
			b.ReportMetric(small, "us/8B")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkRing measures the bus bandwidth, as nccl-tests defines it, of a ring AllReduce
// of 16 MiB over four ranks.
func BenchmarkRing(b *testing.B) {
	top := system(b, "ring:4")
	p := ring(b, 4, compiler.Options{})
	for _, proto := range topologies.AllProtocols {
		for _, d := range []string{"f32", "bf16"} {
			b.Run(proto.String()+"/"+d, func(b *testing.B) {
				trial := executor.Trial{Program: p, Topology: top, Bytes: 16 << 20, Protocol: proto, Iters: 3, Warmup: 1, DType: d}
				var took float64
				for b.Loop() {
					took = medianTime(b, trial)
				}
				b.ReportMetric(float64(trial.Bytes)/took/1e3*2*3/4, "busGB/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func medianTime(b *testing.B, t executor.Trial) float64 {
	m, err := New().Run(context.Background(), t)
	if err != nil || m.Wrong != 0 {
		b.Fatalf("%d wrong, %v", m.Wrong, err)
	}
	slices.Sort(m.TimesUS)
	return m.TimesUS[len(m.TimesUS)/2]
}
