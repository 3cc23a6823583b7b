package rccl_test

import (
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/library/rccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// choose is what RCCL 2.21.5 chooses, its first first.
func choose(t *testing.T, top *topologies.Topology, name string, inPlace bool, bytes int64, f nccl.Forced) []nccl.Choice {
	t.Helper()
	return chooseBy(t, "2.21.5", top, name, inPlace, bytes, f)
}

// chooseBy is what a release chooses.
func chooseBy(t *testing.T, version string, top *topologies.Topology, name string, inPlace bool, bytes int64, f nccl.Forced) []nccl.Choice {
	t.Helper()
	var release *rccl.Release
	for _, r := range rccl.Releases() {
		if r.Version == version {
			release = r
		}
	}
	if release == nil {
		t.Fatalf("no release %s", version)
	}
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1, InPlace: inPlace})
	if err != nil {
		t.Fatal(err)
	}
	all, err := rccl.NewSystem(top, release).Choices(c, bytes, f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRCCLFiles: which calls RCCL 2.21.5 has a file for, with its program, on 8 MI300X;
// names, sizes and chunks are those of its files.
func TestRCCLFiles(t *testing.T) {
	const mi = 1 << 20
	for _, c := range []struct {
		collective string
		inPlace    bool
		bytes      int64
		f          nccl.Forced
		family     string
		instances  int
		protocol   topologies.Proto
	}{
		{"allreduce", true, 1 << 10, nccl.Forced{}, "all-pairs", 4, topologies.LL}, // 256 elements, as many as the file has chunks
		{"allreduce", true, 1 << 9, nccl.Forced{}, "ring", 0, topologies.LL},       // fewer
		{"allreduce", true, 1 << 9, nccl.Forced{ElemBytes: 2}, "all-pairs", 4, topologies.LL},
		{"allreduce", true, 3<<10 + 4, nccl.Forced{}, "ring", 0, topologies.LL}, // 769 elements
		{"allreduce", false, 64 << 10, nccl.Forced{}, "all-pairs", 4, topologies.LL},
		{"allreduce", false, 66 << 10, nccl.Forced{}, "all-pairs", 8, topologies.LL},
		{"allreduce", true, 512 << 10, nccl.Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 11 * mi, nccl.Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 12 * mi, nccl.Forced{}, "ring", 0, topologies.Simple}, // in place, no file
		{"allreduce", false, 12 * mi, nccl.Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 15 * mi, nccl.Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 17 * mi, nccl.Forced{}, "ring", 0, topologies.Simple},
		{"allreduce", true, mi, nccl.Forced{NoFiles: true}, "ring", 0, topologies.Simple},
		{"allreduce", true, mi, nccl.Forced{Family: "ring"}, "ring", 0, topologies.Simple},
		{"alltoall", false, 9 << 10, nccl.Forced{}, "direct", 1, topologies.LL},
		{"alltoall", false, 10 << 10, nccl.Forced{}, "direct", 2, topologies.LL},
		{"alltoall", false, 512 << 10, nccl.Forced{}, "direct", 4, topologies.LL},
		{"alltoall", false, 7 * mi, nccl.Forced{}, "direct", 4, topologies.Simple},
		{"alltoall", false, 43 * mi, nccl.Forced{}, "direct", 8, topologies.Simple},
		{"allgather", true, mi, nccl.Forced{}, "ring", 0, topologies.Simple},
	} {
		all := choose(t, topotest.Resolve(t, "mi300x", 1), c.collective, c.inPlace, c.bytes, c.f)
		got := all[0]
		if got.Family != c.family || got.Protocol != c.protocol || c.instances > 0 && (got.Channels != c.instances || got.ExtraUS != 0) {
			t.Errorf("%s of %d bytes, in place %t, %+v: %+v, want %s ×%d %v", c.collective, c.bytes, c.inPlace, c.f, got, c.family, c.instances, c.protocol)
		}
		if c.instances > 0 && len(all) < 2 {
			t.Errorf("%s of %d bytes: nothing stands in for the file", c.collective, c.bytes)
		}
	}
	for _, c := range []struct {
		topology string
		nodes    int
		file     bool
	}{{"mi325x", 1, true}, {"mi355x", 1, true}, {"mi300x", 2, false}, {"mi250", 1, false}, {"mi250x", 1, false}, {"frontier", 2, false}} {
		if got := choose(t, topotest.Resolve(t, c.topology, c.nodes), "allreduce", false, mi, nccl.Forced{})[0]; got.Family == "all-pairs" != c.file {
			t.Errorf("%d x %s: %+v", c.nodes, c.topology, got)
		}
	}
}

// TestRCCL: RCCL's own tables. On 8 MI300X its calls were measured to change from LL to
// Simple between 256 and 512 KiB, in all-reduce and in all-gather.
func TestRCCL(t *testing.T) {
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
		bytes      int64
		family     string
		protocol   topologies.Proto
		channels   int // in all
		modelUS    float64
	}{
		// 12 + 14·0.8, and 0.08 of 7·48 GB/s, of which 8/14
		{"mi300x", 1, "allreduce", 256 << 10, "ring", topologies.LL, 16, 12 + 14*.8 + float64(256<<10)/(336e3*.08*8/14)},
		{"mi300x", 1, "allreduce", 512 << 10, "ring", topologies.Simple, 32, 17 + 14*2.1 + float64(512<<10)/(336e3*8/14)},
		{"mi300x", 1, "allreduce", 1 << 30, "ring", topologies.Simple, 56, 17 + 14*2.1 + float64(1<<30)/(336e3*8/14)},
		{"mi300x", 1, "allgather", 256 << 10, "ring", topologies.LL, 16, 12 + 7*.8 + float64(256<<10)/(336e3*.08*8/7)},
		{"mi300x", 1, "allgather", 512 << 10, "ring", topologies.Simple, 32, 17 + 7*2.1 + float64(512<<10)/(336e3*8/7)},
		{"mi300x", 1, "broadcast", 1 << 10, "chain", topologies.LL, 1, 12 + .8 + 1024/(336e3*.08*1.65)},
		{"frontier", 4, "allreduce", 16 << 20, "double-binary-tree", topologies.Simple, 16, 17 + 2*(7*2.5+2*22.4) + float64(16<<20)/(252e3*.96*.5)},
		{"frontier", 4, "allgather", 1 << 30, "ring", topologies.Simple, 16, 17 + 28*6 + 3*19.8 + float64(1<<30)/(252e3*32/31)},
		{"mi250", 1, "allreduce", 2200008, "double-binary-tree", topologies.LL, 32, 0}, // 24, in pairs of 8 trees
		{"mi250", 1, "allreduce", 2200009, "ring", topologies.Simple, 24, 0},
	} {
		top := topotest.Resolve(t, c.topology, c.nodes).Clone()
		top.NoMSCCLFiles = true
		got := choose(t, top, c.collective, false, c.bytes, nccl.Forced{})[0]
		channels := got.Channels
		for _, n := range got.Parameters {
			channels *= n
		}
		if got.Family == "double-binary-tree" {
			channels *= 2
		}
		if got.Family != c.family || got.Protocol != c.protocol || channels != c.channels || c.modelUS > 0 && math.Abs(got.ModelUS-c.modelUS) > 1e-6*c.modelUS {
			t.Errorf("%s of %d bytes on %d x %s: %+v, want %s %v in %d channels, %v us", c.collective, c.bytes, c.nodes, c.topology, got, c.family, c.protocol, c.channels, c.modelUS)
		}
		if want := map[topologies.Proto]float64{topologies.LL: 3.5, topologies.Simple: 10}[got.Protocol]; got.ExtraUS != want {
			t.Errorf("%s on %s: %v us beyond a program's, want %v", c.collective, c.topology, got.ExtraUS, want)
		}
	}
}
