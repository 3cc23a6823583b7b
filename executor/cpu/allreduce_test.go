package cpu

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// allReduceSizes are the sizes of BenchmarkAllReduce, in bytes.
var allReduceSizes = []int64{1 << 20, 4 << 20, 16 << 20, 64 << 20}

// BenchmarkAllReduce measures an AllReduce of f32 in GB/s of its buffer, beside a plain loop
// with the sums and copies that each rank needs, one goroutine a core, in the same run. Each
// figure is the best iteration, which other load on the machine disturbs least.
func BenchmarkAllReduce(b *testing.B) {
	for _, program := range []struct {
		name  string
		trace func(ranks int) *ir.Program
	}{
		{"ring", func(ranks int) *ir.Program { return ring(b, ranks, compiler.Options{}) }},
		{"all-pairs", func(ranks int) *ir.Program { return allPairs(b, ranks, compiler.Options{}) }},
	} {
		for _, ranks := range []int{2, 4} {
			p, top := program.trace(ranks), system(b, fmt.Sprintf("fullmesh:%d", ranks))
			for _, n := range allReduceSizes {
				b.Run(fmt.Sprintf("%s/%dranks/%dMiB", program.name, ranks, n>>20), func(b *testing.B) {
					trial := executor.Trial{Program: p, Topology: top, Bytes: n, Protocol: topologies.Simple, Iters: iterationsOf(n)}
					var ours, plain float64 // us
					for b.Loop() {
						m, err := New().Run(b.Context(), trial)
						if err != nil || m.Wrong != 0 {
							b.Fatalf("%d wrong, %v", m.Wrong, err)
						}
						ours, plain = slices.Min(m.TimesUS), plainAllReduce(n, ranks)
					}
					b.ReportMetric(float64(n)/ours/1e3, "GB/s")
					b.ReportMetric(plain/ours, "of-plain")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// iterationsOf returns the number of iterations of a size: about 2 GiB in all.
func iterationsOf(bytes int64) int { return int(max(2<<30/bytes, 20)) }

// plainAllReduce returns the best time in µs of the work that no AllReduce can avoid on
// a rank: summing all parts of the buffer but one, and copying as much.
func plainAllReduce(bytes int64, ranks int) float64 {
	n := bytes / int64(ranks) * int64(ranks-1)
	mine, others := make([][]byte, ranks), make([][]byte, ranks)
	for r := range ranks {
		mine[r], others[r] = make([]byte, n), make([]byte, n)
		data.Spread(mine[r], 4, 0)
		data.Spread(others[r], 4, 0)
	}
	sum := data.Reduction(data.F32, data.Sum)
	best := time.Duration(1 << 62)
	for range iterationsOf(bytes) {
		begun := time.Now()
		var all sync.WaitGroup
		for w := range min(runtime.GOMAXPROCS(0), ranks) {
			all.Go(func() {
				for r := w; r < ranks; r += runtime.GOMAXPROCS(0) {
					sum(mine[r], mine[r], others[r])
					copy(others[r], mine[r])
				}
			})
		}
		all.Wait()
		best = min(best, time.Since(begun))
	}
	return float64(best) / float64(time.Microsecond)
}
