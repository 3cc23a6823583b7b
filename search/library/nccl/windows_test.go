package nccl_test

import (
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

func firstOf(t *testing.T, top *topologies.Topology, release int, name string, inPlace bool, bytes int64, f nccl.Forced) nccl.Choice {
	t.Helper()
	var r *nccl.Release
	for _, x := range nccl.Releases() {
		if x.Number == release {
			r = x
		}
	}
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1, InPlace: inPlace})
	if err != nil {
		t.Fatal(err)
	}
	all, err := nccl.NewSystem(top, r, nil).Choices(c, bytes, f)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// TestWindows: what NCCL runs for calls of bf16 on windows, and what is known of the time.
func TestWindows(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		topology   string
		nodes      int
		release    int
		collective string
		bytes      int64
		kernel     string // "": a general algorithm
		ctas       int
		us         float64 // 0: unknown
	}{
		// The model's own times where links and switches allow them.
		{"dgx-b200", 1, 23203, "allgather", 64 * kib, "AllGather_TmaSTMC", 1, 8.85},
		{"dgx-b200", 1, 23203, "allgather", mib, "AllGather_TmaSTMC", 2, 10.17},
		{"dgx-b200", 1, 23203, "allgather", 64 * mib, "AllGather_TmaSTMC", 2, 102.55},
		{"dgx-b200", 1, 23007, "allgather", 64 * kib, "AllGather_LLMC", 7, 9.4},
		{"dgx-h100", 1, 23203, "allreduce", 4 * kib, "AllReduce_AGxLLMC_R", 4, 5.23},
		{"dgx-h100", 1, 22707, "reducescatter", 16 * mib, "ReduceScatter_LDMC", 2, 50.7},
		// 32 MiB a rank are 16 Mi elements: copy engines, from 2.29 on; 33.1 us, and a rank's own part over PCIe at 106 GB/s.
		{"dgx-b200", 1, 23203, "allgather", 256 * mib, nccl.CopyEngine, 0, 33.08 + 32*mib/106e3},
		{"dgx-b200", 1, 22809, "allgather", 256 * mib, "AllGather_STMC", 3, 379.8},
		{"dgx-h100", 1, 23203, "allgather", 256 * mib, "AllGather_STMC", 2, 709.4},
		// 8.1 us, and as fast as NVLS at its largest sizes, where the model has 43.4 and 153.3.
		{"dgx-h100", 1, 23203, "allreduce", 16 * mib, "AllReduce_RSxLDMC_AGxSTMC", 2, 68.4},
		{"dgx-h100", 1, 23203, "allreduce", 64 * mib, "AllReduce_RSxLDMC_AGxSTMC", 2, 249.4},
		// 72 GPUs at 435 GB/s each way, as measured.
		{"gb200-nvl72", 1, 23203, "allreduce", 1024 * mib, "AllReduce_RSxLDMC_AGxSTMC", 1, 19.8 + 73./72*1024*mib/435e3},
		// 12 links of an A100 carry less than the model's, which is of an H100.
		{"dgx-a100", 1, 23007, "allreduce", 64 * mib, "AllReduce_RSxLD_AGxST", 7, 8.1 + 2*7./8*64*mib/240e3},
		// Over nodes, the score of all-gather is no time.
		{"dgx-h100", 2, 23203, "allgather", 64 * mib, "AllGather_RailRing_LsaSTMC", 2, 0},
		{"dgx-h100", 2, 23203, "allreduce", 64 * mib, "", 0, 0},
		{"alps", 2, 23203, "allgather", 64 * mib, "", 0, 0}, // Slingshot
		{"dgx-h100", 2, 22809, "allgather", 64 * mib, "", 0, 0},
		{"dgx-1", 1, 23203, "allgather", mib, "", 0, 0}, // not all joined by links
		{"l40s-4", 1, 23203, "allgather", mib, "", 0, 0},
		{"dgx-h100", 1, 23203, "broadcast", mib, "", 0, 0},
		{"dgx-h100", 1, 23203, "alltoall", mib, "", 0, 0},
	} {
		top := topotest.Resolve(t, c.topology, c.nodes)
		got := firstOf(t, top, c.release, c.collective, false, c.bytes, nccl.Forced{Registered: nccl.Window, DType: "bf16", ElemBytes: 2, Op: "sum"})
		want := nccl.Predicted
		if c.us == 0 {
			want = nccl.Unknown
		}
		if got.Kernel != c.kernel || got.CTAs != c.ctas {
			t.Errorf("%d x %s, %s of %d bytes, %d: %+v, want %s ×%d", c.nodes, c.topology, c.collective, c.bytes, c.release, got, c.kernel, c.ctas)
			continue
		}
		if c.kernel != "" && (got.Evidence != want || got.Lacks == "" || math.Abs(got.ClockUS-c.us) > .005*c.us) {
			t.Errorf("%d x %s, %s of %d bytes, %d: %v us (%v), want %v", c.nodes, c.topology, c.collective, c.bytes, c.release, got.ClockUS, got.Evidence, c.us)
		}
		for _, state := range []nccl.Registered{nccl.None, nccl.User} {
			if general := firstOf(t, top, c.release, c.collective, false, c.bytes, nccl.Forced{Registered: state, DType: "bf16", ElemBytes: 2}); general.Kernel != "" {
				t.Errorf("%s of %d bytes on %s, buffers %v: %+v", c.collective, c.bytes, c.topology, state, general)
			}
		}
	}
}

// TestWindowsOfACall: types, operations and how the library is narrowed decide, too.
func TestWindowsOfACall(t *testing.T) {
	top := topotest.Resolve(t, "dgx-h100", 1)
	for _, c := range []struct {
		what string
		f    nccl.Forced
		want string
	}{
		{"f32", nccl.Forced{}, "AllReduce_RSxLDMC_AGxSTMC"},
		{"avg", nccl.Forced{Op: "avg"}, "AllReduce_RSxLDMC_AGxSTMC"},
		{"f64", nccl.Forced{DType: "f64", ElemBytes: 8}, ""},
		{"max", nccl.Forced{Op: "max"}, ""},
		{"NCCL_ALGO=ring", nccl.Forced{Family: "ring"}, ""},
		{"before 2.22", nccl.Forced{Before222: true}, ""},
	} {
		c.f.Registered = nccl.Window
		if got := firstOf(t, top, 23203, "allreduce", true, 1<<20, c.f); got.Kernel != c.want {
			t.Errorf("%s: %+v, want %q", c.what, got, c.want)
		}
	}
	// One window of an all-gather leaves LL where the library would run LL otherwise; in place, both buffers are in it.
	for _, inPlace := range []bool{false, true} {
		got := firstOf(t, top, 23007, "allgather", inPlace, 8<<10, nccl.Forced{Registered: nccl.Window})
		general := firstOf(t, top, 23007, "allgather", inPlace, 8<<10, nccl.Forced{})
		if want := inPlace || general.Protocol == topologies.LL; (got.Kernel == "AllGather_LLMC") != want {
			t.Errorf("in place %t: %+v, and %v without windows", inPlace, got, general.Protocol)
		}
	}
}
