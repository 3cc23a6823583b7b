package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name    string
		program *ir.Program
		on      string
		nodes   int
		k       Knobs
	}{
		{"ring8x24/1GiB/Simple", ringAllReduce(order(8), 24), "dgx-a100", 1, Knobs{Bytes: 1 << 30, Protocol: topologies.Simple}},
		{"ring8x24/1GiB/LL", ringAllReduce(order(8), 24), "dgx-a100", 1, Knobs{Bytes: 1 << 30, Protocol: topologies.LL}},
		{"ring8x24/1KiB/LL", ringAllReduce(order(8), 24), "dgx-a100", 1, Knobs{Bytes: 1 << 10, Protocol: topologies.LL}},
		{"allpairs8x4/1GiB/LL128", allPairsAllReduce(8, 4), "dgx-a100", 1, Knobs{Bytes: 1 << 30, Protocol: topologies.LL128}},
		{"alltoall32/1GiB/LL", directAllToAll(32), "dgx-a100", 4, Knobs{Bytes: 1 << 30, Protocol: topologies.LL}},
		{"ring2048/64MiB/LL", ringAllGather(2048, 1, 1, true), "hub:2048", 1, Knobs{Bytes: 1 << 26, Protocol: topologies.LL}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := Prepare(c.program, system(b, c.on, c.nodes))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			events := int64(0)
			for b.Loop() {
				r, err := p.Run(c.k)
				if err != nil {
					b.Fatal(err)
				}
				events += r.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// What folding saves: of each program, the least time of a simulation with folding and
// without, in turn, and their ratio.
func BenchmarkFolding(b *testing.B) {
	for _, c := range []struct {
		name    string
		program func() *ir.Program
		on      string
		nodes   int
		k       Knobs
	}{
		{"ring8x24/1MiB/LL", func() *ir.Program { return ringAllReduce(order(8), 24) }, "dgx-a100", 1, Knobs{Bytes: 1 << 20, Protocol: topologies.LL}},
		{"allpairs8x4/1MiB/LL", func() *ir.Program { return allPairsAllReduce(8, 4) }, "dgx-a100", 1, Knobs{Bytes: 1 << 20, Protocol: topologies.LL}},
		{"alltoall32/1MiB/LL", func() *ir.Program { return directAllToAll(32) }, "dgx-a100", 4, Knobs{Bytes: 1 << 20, Protocol: topologies.LL}},
		{"twostep256/64MiB/LL", func() *ir.Program { return twoStepAllToAll(32) }, "dgx-a100", 32, Knobs{Bytes: 64 << 20, Protocol: topologies.LL}},
		{"ring2048/1GiB/LL", func() *ir.Program { return ringAllReduce(order(2048), 1) }, "dgx-a100", 256, Knobs{Bytes: 1 << 30, Protocol: topologies.LL}},
	} {
		b.Run(c.name, func(b *testing.B) {
			program, top := c.program(), system(b, c.on, c.nodes)
			took := [2]time.Duration{math.MaxInt64, math.MaxInt64}
			for b.Loop() {
				for i, prepare := range []func(*ir.Program, *topologies.Topology) (*Prepared, error){Prepare, PrepareUnfolded} {
					p, err := prepare(program, top)
					if err != nil {
						b.Fatal(err)
					}
					start := time.Now()
					if _, err := p.Run(c.k); err != nil {
						b.Fatal(err)
					}
					took[i] = min(took[i], time.Since(start))
				}
			}
			b.ReportMetric(took[0].Seconds()*1e3, "folded-ms")
			b.ReportMetric(took[1].Seconds()*1e3, "unfolded-ms")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
		})
	}
}

// How the least time of a two-step AllToAll grows with its messages, to prepare and to run
// it with each protocol: from one row to the next there are four times as many.
func BenchmarkGrowth(b *testing.B) {
	for _, nodes := range []int{8, 16, 32, 64, 128} {
		b.Run(fmt.Sprintf("ranks=%d", 8*nodes), func(b *testing.B) {
			program, top := twoStepAllToAll(nodes), system(b, "dgx-a100", nodes)
			prepared, ran := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				p, err := Prepare(program, top)
				if err != nil {
					b.Fatal(err)
				}
				prepared = min(prepared, time.Since(start))
				start = time.Now()
				for _, proto := range topologies.AllProtocols {
					// A chunk is one tile.
					k := Knobs{Bytes: 4096 * int64(8*nodes), Protocol: proto}
					if _, err := p.Run(k); err != nil {
						b.Fatal(err)
					}
				}
				ran = min(ran, time.Since(start))
			}
			messages := float64(nodes * 8 * (7*nodes + nodes - 1))
			b.ReportMetric(messages, "messages")
			b.ReportMetric(prepared.Seconds()*1e9/messages, "prepare-ns/message")
			b.ReportMetric(ran.Seconds()*1e9/messages, "run-ns/message")
		})
	}
}

func BenchmarkLowerBound(b *testing.B) {
	p, err := Prepare(ringAllReduce(order(8), 24), system(b, "dgx-a100", 1))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, proto := range topologies.AllProtocols {
			p.LowerBound(Knobs{Bytes: 1 << 24, Protocol: proto})
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	top := system(b, "dgx-a100", 1)
	program := ringAllReduce(order(8), 24)
	for b.Loop() {
		if _, err := Prepare(program, top); err != nil {
			b.Fatal(err)
		}
	}
}
