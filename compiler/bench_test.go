package compiler

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/lang"
)

// The sizes at which the peer takes 2.6 and 37 s (ring), 5.9 and over 150 s
// (all-pairs), 11 and over 80 s (halving-doubling), 3.2 and 13.8 s (two-step).
func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() *lang.Program
		opt  Options
	}{
		{"ring allreduce 64 ranks 8 channels", func() *lang.Program { return ringAllReduce(64, 8) }, Options{}},
		{"ring allreduce 128 ranks 8 channels", func() *lang.Program { return ringAllReduce(128, 8) }, Options{}},
		{"ring allreduce 8 ranks 24 instances", func() *lang.Program { return ringAllReduce(8, 1) }, Options{Instances: 24}},
		{"all-pairs allreduce 16 ranks R² chunks", func() *lang.Program { return allPairs(16, true) }, Options{}},
		{"all-pairs allreduce 32 ranks R² chunks", func() *lang.Program { return allPairs(32, true) }, Options{}},
		{"halving-doubling allreduce 64 ranks", func() *lang.Program { return halvingDoubling(64) }, Options{}},
		{"halving-doubling allreduce 128 ranks", func() *lang.Program { return halvingDoubling(128) }, Options{}},
		{"two-step alltoall 16x8", func() *lang.Program { return twoStep(16, 8) }, Options{}},
		{"two-step alltoall 32x8", func() *lang.Program { return twoStep(32, 8) }, Options{}},
		{"two-step alltoall 64x8", func() *lang.Program { return twoStep(64, 8) }, Options{}},
		{"two-level allgather 64x8", func() *lang.Program { return twoLevel(64, 8) }, Options{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := c.make()
			b.ReportAllocs()
			times := map[string]float64{}
			steps := 0
			for b.Loop() {
				res, err := Compile(p, c.opt)
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range res.Times {
					times[t.Name] += t.Elapsed.Seconds()
				}
				steps = 0
				for _, g := range res.Program.GPUs {
					for _, tb := range g.Threadblocks {
						steps += len(tb.Steps)
					}
				}
			}
			b.ReportMetric(float64(steps), "steps")
			if testing.Verbose() {
				for _, p := range Passes() {
					fmt.Printf("  %-14s %8.2f ms\n", p.Name, 1e3*times[p.Name]/float64(b.N))
				}
			}
		})
	}
}
