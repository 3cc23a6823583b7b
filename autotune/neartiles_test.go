package autotune

import (
	"slices"
	"testing"

	"github.com/colltune/colltune/topologies"
)

// TestNearTiles tries smaller tiles where a program's slots would not stay in an
// executor's cache, and nowhere else.
func TestNearTiles(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		name    string
		change  func(p *Problem)
		proto   topologies.Proto
		bytes   int64
		links   int
		maximum int
		want    []int64
	}{
		{name: "128 connections", proto: topologies.Simple, bytes: 256 * mib, links: 128, want: []int64{128 << 10, 32 << 10}},
		{name: "a larger cache", change: func(p *Problem) { p.SlotCache = 100 * mib }, proto: topologies.Simple, bytes: 256 * mib, links: 128, want: []int64{256 << 10, 64 << 10}},
		{name: "LL128 has 8 slots", proto: topologies.LL128, bytes: 256 * mib, links: 128, want: []int64{32 << 10}},
		{name: "one of the topology's fits", proto: topologies.LL, bytes: 256 * mib, links: 128},
		{name: "few connections", proto: topologies.Simple, bytes: 256 * mib, links: 8},
		{name: "small messages", proto: topologies.Simple, bytes: 256 << 10, links: 128},
		{name: "small chunks, many a call", proto: topologies.Simple, bytes: 8 * mib, links: 128, maximum: 8, want: []int64{128 << 10, 32 << 10}},
		{name: "a device for each", change: func(p *Problem) { p.Devices = 16 }, proto: topologies.Simple, bytes: 256 * mib, links: 128},
		{name: "nothing is known", change: func(p *Problem) { p.SlotCache = 0 }, proto: topologies.Simple, bytes: 256 * mib, links: 128},
		{name: "a tile is asked for", change: func(p *Problem) { p.Tiles[topologies.Simple] = []int64{mib} }, proto: topologies.Simple, bytes: 256 * mib, links: 128},
		{name: "a runtime has its own", change: func(p *Problem) { p.Runtime = "msccl" }, proto: topologies.Simple, bytes: 256 * mib, links: 128},
		{name: "no messages", proto: topologies.Simple, bytes: 256 * mib},
		{name: "too many for any", proto: topologies.Simple, bytes: 256 * mib, links: 1 << 14},
	} {
		p := &Problem{Topology: testTopology(), Devices: 1, SlotCache: 50 * mib}
		p.Topology.Protocols[topologies.Simple].Tiles = p.Topology.Protocols[topologies.Simple].Tiles[1:]
		for i := range p.Topology.Protocols {
			p.Topology.Protocols[i].Wire = []float64{2, 16. / 15, 1}[i]
		}
		if tc.change != nil {
			tc.change(p)
		}
		got := p.nearTiles(&candidate{loopChunks: 16, maxCount: tc.maximum, connections: tc.links}, tc.proto, tc.bytes, 4)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
