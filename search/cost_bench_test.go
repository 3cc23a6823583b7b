package search

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

// BenchmarkSummarize sums up programs without copies within a rank, and with many.
func BenchmarkSummarize(b *testing.B) {
	for _, c := range []struct {
		family     string
		collective string
		params     script.Params
	}{
		{"ring", "allreduce", script.Params{"rings": 1, "channels": 1}},
		{"multi-level", "reducescatter", script.Params{"cross": "recursive", "local": "all-pairs", "groups": 1, "top": "recursive", "shuffle": true}},
		{"bruck", "alltoall", script.Params{"radix": 2}},
	} {
		b.Run(c.family, func(b *testing.B) {
			e := onDGX(b, 32, Options{})
			e.problem.Collective, e.problem.InPlace = c.collective, collective.DefaultInPlace(c.collective)
			f := familyFor(b, c.family, c.collective)
			program, err := e.trace(f, c.params)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { b.ReportMetric(float64(len(program.Ops)), "operations") }()
			for b.Loop() {
				summarize(program, e.problem.Topology)
			}
		})
	}
}
