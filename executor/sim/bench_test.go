package sim

import (
	"fmt"
	"testing"

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

// How the time of a two-step AllToAll grows with its messages: from one row to the next
// there are four times as many.
func BenchmarkGrowth(b *testing.B) {
	for _, nodes := range []int{8, 16, 32, 64, 128} {
		for _, proto := range topologies.AllProtocols {
			b.Run(fmt.Sprintf("ranks=%d/%v", 8*nodes, proto), func(b *testing.B) {
				p, err := Prepare(twoStepAllToAll(nodes), system(b, "dgx-a100", nodes))
				if err != nil {
					b.Fatal(err)
				}
				events, runs := int64(0), 0
				for b.Loop() {
					r, err := p.Run(Knobs{Bytes: 64 << 20, Protocol: proto})
					if err != nil {
						b.Fatal(err)
					}
					events += r.Events
					runs++
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
				b.ReportMetric(float64(events)/float64(runs), "events/op")
			})
		}
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
