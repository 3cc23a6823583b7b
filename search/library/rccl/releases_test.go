package rccl_test

import (
	"math"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/library/rccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestReleases: what each release takes first for a call of f32, with a program's family, or the name of kernels that
// have no time here.
func TestReleases(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
		bytes      int64
		by         []string // versions
		want       string
	}{
		{"mi300x", 1, "allreduce", mib, []string{"2.21.5", "2.26.6", "2.27.7", "2.28.3-rocm7.11"}, "all-pairs"}, // MSCCL, until ROCm 7.13
		{"mi300x", 1, "allreduce", mib, []string{"2.28.3"}, "ring"},
		{"mi300x", 1, "allreduce", 8 * mib, []string{"2.30.4", "2.30.7", "2.31.2"}, "direct access"},
		{"mi300x", 1, "allreduce", 8*mib + 128, []string{"2.30.4", "2.30.7", "2.31.2"}, "ring"},
		{"mi300x", 1, "allreduce", 256*kib + 16, []string{"2.30.7"}, "ring"}, // parts of no 16 bytes
		{"mi300x", 1, "allreduce", 256*kib - 16, []string{"2.30.7"}, "direct access"},
		{"mi325x", 1, "reducescatter", 8 * mib, []string{"2.30.4"}, "direct access"},
		{"mi355x", 1, "allreduce", 64 * mib, []string{"2.30.4", "2.30.7"}, "direct access"},
		{"mi355x", 1, "allreduce", 128 * mib, []string{"2.30.4"}, "ring"},
		{"mi355x", 1, "allreduce", 128 * mib, []string{"2.30.7", "2.31.2"}, "direct access"},
		{"mi355x", 1, "allgather", 129 * mib, []string{"2.30.7"}, "ring"},
		{"mi300x", 1, "alltoall", 4 * mib, []string{"2.30.7"}, "direct access"},
		{"mi355x", 1, "alltoall", 8 * mib, []string{"2.30.7"}, "direct"},
		{"mi300x", 1, "broadcast", mib, []string{"2.30.7"}, "chain"},
		{"mi300x", 2, "allreduce", 4 * kib, []string{"2.30.7"}, "double-binary-tree"}, // not over nodes
		{"mi250", 1, "allreduce", mib, []string{"2.21.5", "2.30.7"}, "double-binary-tree"},
		{"frontier", 8, "allgather", mib, []string{"2.21.5", "2.30.7"}, "ring"},
		// All-gathers of sends and receives to each.
		{"mi300x", 1, "allgather", 4 * mib, []string{"2.27.7", "2.28.3"}, "all-pairs"},
		{"mi300x", 1, "allgather", 5 * mib, []string{"2.27.7", "2.28.3"}, "ring"},
		{"mi300x", 1, "allgather", 4 * mib, []string{"2.21.5", "2.26.6"}, "ring"},
		{"mi355x", 1, "allgather", 8 * mib, []string{"2.28.3"}, "all-pairs"},
		{"mi355x", 2, "allgather", 4 * mib, []string{"2.30.7"}, "all-pairs"},
		{"mi355x", 8, "allgather", 32 * mib, []string{"2.28.3", "2.30.7"}, "hierarchical all-gather"},
		{"mi355x", 4, "reducescatter", 4 * mib, []string{"2.30.7"}, "direct reduce-scatter"},
		{"mi300x", 4, "reducescatter", kib, []string{"2.30.7"}, "ring"},
		// Over nodes the bytes say the protocol; LL128 has no time here.
		{"mi300x", 2, "allreduce", mib, []string{"2.26.6", "2.30.7"}, "LL128"},
		{"mi300x", 2, "allreduce", mib, []string{"2.21.5"}, "double-binary-tree"},
		{"mi300x", 2, "allreduce", 5 * mib, []string{"2.30.7"}, "double-binary-tree"},
		{"mi300x", 4, "allreduce", 16 * mib, []string{"2.30.7"}, "LL128"}, // 3.8 times as many
		{"mi355x", 2, "allreduce", 32 * mib, []string{"2.30.4", "2.30.7"}, "LL128"},
	} {
		for _, version := range c.by {
			got := chooseBy(t, version, topotest.Resolve(t, c.topology, c.nodes), c.collective, false, c.bytes, nccl.Forced{DType: "f32", Op: "sum"})[0]
			if got.Family != c.want {
				t.Errorf("%s: %s of %d bytes on %d x %s: %+v, want %s", version, c.collective, c.bytes, c.nodes, c.topology, got, c.want)
			}
			if got.Lacks != "" && (got.Kernel != c.want || got.Evidence == nccl.Unknown && got.ClockUS != 0) {
				t.Errorf("%s: %s of %d bytes on %d x %s: %+v: a kernel without a program has its name, and no unknown time", version, c.collective, c.bytes, c.nodes, c.topology, got)
			}
		}
	}
}

// TestDirectAccessAsks: types, sums and ranks. What it does not serve goes on.
func TestDirectAccessAsks(t *testing.T) {
	for _, c := range []struct {
		what  string
		f     nccl.Forced
		ranks []int
		want  bool
	}{
		{"f32", nccl.Forced{}, nil, true},
		{"bf16", nccl.Forced{DType: "bf16", ElemBytes: 2}, nil, true},
		{"f64", nccl.Forced{DType: "f64", ElemBytes: 8}, nil, false},
		{"max", nccl.Forced{Op: "max"}, nil, false},
		{"NCCL_ALGO=ring", nccl.Forced{Family: "ring"}, nil, false},
		{"4 GPUs", nccl.Forced{}, []int{0, 1, 2, 3}, false},
	} {
		top, err := topologies.Resolve("mi300x", topologies.Options{GPUs: c.ranks})
		if err != nil {
			t.Fatal(err)
		}
		if got := chooseBy(t, "2.30.7", top, "allreduce", true, 1<<20, c.f)[0]; (got.Family == "direct access") != c.want {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
}

// TestMeasuredDirectAccess: 64 MiB of f32 on 8 MI355X were measured at 376.97 GB/s of bus bandwidth.
func TestMeasuredDirectAccess(t *testing.T) {
	top := topotest.Resolve(t, "mi355x", 1)
	got := chooseBy(t, "2.30.7", top, "allreduce", false, 64<<20, nccl.Forced{DType: "f32"})[0]
	if got.Evidence != nccl.Measured || math.Abs(got.ClockUS-311.5) > 0.1 {
		t.Errorf("%+v", got)
	}
	for _, dtype := range []string{"bf16"} {
		if got := chooseBy(t, "2.30.7", top, "allreduce", false, 64<<20, nccl.Forced{DType: dtype, ElemBytes: 2})[0]; got.Evidence != nccl.Unknown {
			t.Errorf("%s: %+v", dtype, got)
		}
	}
}

// TestWindowsChangeNothing: without settings these GPUs have none.
func TestWindowsChangeNothing(t *testing.T) {
	for _, of := range []string{"allreduce", "allgather", "reducescatter"} {
		for bytes := int64(1 << 10); bytes <= 1<<30; bytes *= 4 {
			top := topotest.Resolve(t, "mi300x", 1)
			all := chooseBy(t, "2.30.7", top, of, false, bytes, nccl.Forced{})
			if windows := chooseBy(t, "2.30.7", top, of, false, bytes, nccl.Forced{Registered: nccl.Window}); windows[0].Family != all[0].Family {
				t.Errorf("%s of %d bytes: %+v on windows, else %+v", of, bytes, windows[0], all[0])
			}
		}
	}
}

// TestTuner: AMD's rows decide where nothing stands before rings and trees.
func TestTuner(t *testing.T) {
	for _, c := range []struct {
		version  string
		nodes    int
		bytes    int64
		family   string
		protocol topologies.Proto
		channels int // in all
	}{
		{"2.28.3", 1, 8 << 10, "double-binary-tree", topologies.LL, 2}, // one, in pairs of trees
		{"2.28.3", 1, 16 << 10, "ring", topologies.LL, 1},
		{"2.28.3", 1, 512 << 10, "ring", topologies.LL, 32},
		{"2.28.3", 1, 1 << 20, "ring", topologies.LL, 56},
		{"2.28.3", 1, 2 << 20, "ring", topologies.Simple, 56},
		{"2.30.7", 2, 64 << 20, "double-binary-tree", topologies.Simple, 64},
		{"2.30.7", 2, 128 << 20, "ring", topologies.Simple, 48},
		{"2.30.4", 2, 128 << 20, "ring", topologies.Simple, 64}, // before these rows
	} {
		got := chooseBy(t, c.version, topotest.Resolve(t, "mi355x", c.nodes), "allreduce", false, c.bytes, nccl.Forced{})[0]
		channels := got.Channels
		for _, n := range got.Parameters {
			channels *= n
		}
		if got.Family == "double-binary-tree" {
			channels *= 2
		}
		if got.Family != c.family || got.Protocol != c.protocol || channels != c.channels {
			t.Errorf("%s: %d bytes on %d x mi355x: %+v, want %s %v in %d channels", c.version, c.bytes, c.nodes, got, c.family, c.protocol, c.channels)
		}
	}
}

// TestChoicesStandIn: behind what has no time stands what RCCL would run otherwise, in each release and on each system.
func TestChoicesStandIn(t *testing.T) {
	for _, r := range rccl.Releases() {
		for _, nodes := range []int{1, 2, 8} {
			for _, name := range []string{"mi300x", "mi355x", "frontier"} {
				top := topotest.Resolve(t, name, nodes)
				s := rccl.NewSystem(top, r)
				for _, of := range []string{"allreduce", "allgather", "reducescatter", "broadcast", "alltoall"} {
					c, err := collective.New(collective.Spec{Name: of, Ranks: len(top.Ranks), Chunks: 1})
					if err != nil {
						t.Fatal(err)
					}
					for bytes := int64(1 << 10); bytes <= 1<<30; bytes *= 4 {
						all, err := s.Choices(c, bytes, nccl.Forced{Registered: nccl.Window})
						if err != nil {
							t.Fatal(err)
						}
						if !slices.ContainsFunc(all, func(x nccl.Choice) bool { return x.Lacks == "" }) {
							t.Errorf("%s: %s of %d bytes on %d x %s: %+v", r.Version, of, bytes, nodes, name, all)
						}
					}
				}
			}
		}
	}
}
