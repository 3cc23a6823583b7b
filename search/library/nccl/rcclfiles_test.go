package nccl

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// TestRCCLFiles: which calls RCCL 2.21.5 has a file for, with its program, on 8 MI300X;
// names, sizes and chunks are those of its files.
func TestRCCLFiles(t *testing.T) {
	const mi = 1 << 20
	for _, c := range []struct {
		collective string
		inPlace    bool
		bytes      int64
		f          Forced
		family     string
		instances  int
		protocol   topologies.Proto
	}{
		{"allreduce", true, 1 << 10, Forced{}, "all-pairs", 4, topologies.LL}, // 256 elements, as many as the file has chunks
		{"allreduce", true, 1 << 9, Forced{}, "ring", 0, topologies.LL},       // fewer
		{"allreduce", true, 1 << 9, Forced{ElemBytes: 2}, "all-pairs", 4, topologies.LL},
		{"allreduce", true, 3<<10 + 4, Forced{}, "ring", 0, topologies.LL}, // 769 elements
		{"allreduce", false, 64 << 10, Forced{}, "all-pairs", 4, topologies.LL},
		{"allreduce", false, 66 << 10, Forced{}, "all-pairs", 8, topologies.LL},
		{"allreduce", true, 512 << 10, Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 11 * mi, Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 12 * mi, Forced{}, "ring", 0, topologies.Simple}, // in place, no file
		{"allreduce", false, 12 * mi, Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 15 * mi, Forced{}, "all-pairs", 8, topologies.Simple},
		{"allreduce", true, 17 * mi, Forced{}, "ring", 0, topologies.Simple},
		{"allreduce", true, mi, Forced{NoFiles: true}, "ring", 0, topologies.Simple},
		{"allreduce", true, mi, Forced{Family: "ring"}, "ring", 0, topologies.Simple},
		{"alltoall", false, 9 << 10, Forced{}, "direct", 1, topologies.LL},
		{"alltoall", false, 10 << 10, Forced{}, "direct", 2, topologies.LL},
		{"alltoall", false, 512 << 10, Forced{}, "direct", 4, topologies.LL},
		{"alltoall", false, 7 * mi, Forced{}, "direct", 4, topologies.Simple},
		{"alltoall", false, 43 * mi, Forced{}, "direct", 8, topologies.Simple},
		{"allgather", true, mi, Forced{}, "ring", 0, topologies.Simple},
	} {
		of, err := collective.New(collective.Spec{Name: c.collective, Ranks: 8, Chunks: 1, InPlace: c.inPlace})
		if err != nil {
			t.Fatal(err)
		}
		all, err := ForcedChoices(resolve(t, "mi300x", 1), of, c.bytes, c.f)
		if err != nil {
			t.Fatal(err)
		}
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
	}{{"mi325x", 1, true}, {"mi355x", 1, true}, {"mi300x", 2, false}, {"mi250", 1, false}, {"mi250x", 1, false}, {"frontier", 2, false}, {"dgx-a100", 1, false}} {
		if got := choose(t, resolve(t, c.topology, c.nodes), "allreduce", mi); got.Family == "all-pairs" != c.file {
			t.Errorf("%d x %s: %+v", c.nodes, c.topology, got)
		}
	}
}
