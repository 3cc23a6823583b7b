package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor/measured"
)

// Shipped steps are read at any scale that their groups allow, and their sizes are those
// that their comments derive.
func TestShippedSteps(t *testing.T) {
	if len(Shipped()) < 8 {
		t.Fatal(Shipped())
	}
	scales := map[string][]int{"moe-inference": {8}, "dlrm": {8, 16, 32}, "megatron-dense": {8, 32}, "resnet-50": {4, 64, 256}}
	for _, name := range Shipped() {
		text, ok := ShippedStep(name)
		if !ok {
			t.Fatal(name)
		}
		ranks := scales[name]
		if ranks == nil {
			ranks = []int{8, 32, 256, 2048}
		}
		for _, n := range ranks {
			s, err := Parse(name, text, Options{Ranks: n})
			if err != nil {
				t.Errorf("%s over %d ranks: %v", name, n, err)
				continue
			}
			if s.Name != name {
				t.Errorf("%s is called %s", name, s.Name)
			}
			if _, err := newGraph(s, func(int) maker { return maker{onHost: true} }); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name, op string
		ranks    int
		bytes    int64
	}{
		{"ds-moe", "dispatch 32", 256, 4 << 20},
		{"ds-moe", "average", 256, 2 * (24*12*1024*1024 + 50257*1024)},
		{"ds-moe", "average experts 32", 256, 10 * 8 * 1024 * 1024 * 2},
		{"dlrm", "exchange", 32, 2 << 20},
		{"dlrm", "average bottom", 32, 4 * (13*512 + 512*512 + 512*64)},
		{"megatron-dense", "mlp sum", 32, 16 << 20},
		{"zero3-7b", "gather", 128, 384 << 20},
		{"zero3-13b", "scatter", 2048, 600 << 20},
		{"resnet-50", "average", 64, 25.6e6},
		{"moe-inference", "dispatch", 8, 58720256},
		{"moe-inference", "combine", 8, 117440512},
	} {
		text, _ := ShippedStep(c.name)
		s, err := Parse(c.name, text, Options{Ranks: c.ranks})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, call := range s.Calls {
			if found = call.Op == c.op && s.Kinds[call.Kind].Bytes == c.bytes; found {
				break
			}
		}
		if !found {
			t.Errorf("%s over %d ranks has no %s of %d bytes", c.name, c.ranks, c.op, c.bytes)
		}
	}
}

// The model's times are those of its formulas, worked out here.
func TestModelMPI(t *testing.T) {
	source, err := ModelMPI("lassen")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind   Kind
		kernel string
		us     float64
	}{
		{Kind{Collective: "sendrecv", Bytes: 10.2e6, Ranks: 2, Nodes: 2}, "one message", 2.4 + 1000},
		{Kind{Collective: "sendrecv", Bytes: 6e6, Ranks: 2, Nodes: 1}, "one message", 2.4 + 100},
		{Kind{Collective: "alltoall", Bytes: 4 << 20, Ranks: 32, Nodes: 8}, "pairwise", 3*(2.4+131072/60e3) + 28*(2.4+131072/5.125e3)},
		{Kind{Collective: "alltoallv", Bytes: 32 * 64 << 10, Ranks: 32, Nodes: 8, Traffic: "balanced"}, "bruck", 5 * (2.4 + 32768/5.125e3)},
		{Kind{Collective: "allgather", Bytes: 64 << 20, Ranks: 4, Nodes: 1}, "recursive doubling", 2*2.4 + (64<<20)*0.75/60e3},
		// Two levels: halves and quarters of a GPU's part cross nodes, the rest stays.
		{Kind{Collective: "allreduce", Bytes: 64 << 20, Ranks: 16, Nodes: 4}, "two-level", 2 * (2*2.4 + (16<<20)*0.75/5.125e3 + 2*2.4 + (64<<20)*0.75/60e3)},
	} {
		times, err := source.Times(c.kind)
		if err != nil || len(times) != 1 || math.Abs(times[0].TimeUS-c.us) > 1e-6 || times[0].Conditions[measured.Kernel] != c.kernel || !times[0].Simulated() {
			t.Errorf("%s: %+v, %v: want %s in %g us", c.kind, times, err, c.kernel, c.us)
		}
	}
	if none, err := source.Times(Kind{Collective: "alltoallv", Bytes: 1 << 20, Ranks: 8, Traffic: "skew:2"}); err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
	if _, err := ModelMPI("dgx-1"); err == nil || !strings.Contains(err.Error(), "want one of lassen, thetagpu") {
		t.Error(err)
	}
}

// The vendor's library takes what the winning table's baseline does: figures of the README.
func TestVendor(t *testing.T) {
	told := 0
	v := &Vendor{Context: t.Context(), System: "dgx-a100", Notice: func(string) { told++ }}
	for bytes, want := range map[int64]float64{1 << 10: 20.43, 64 << 20: 646.14} {
		times, err := v.Times(Kind{Collective: "allreduce", Bytes: bytes, Ranks: 8, Nodes: 1, DType: "f32"})
		if err != nil || len(times) != 1 || math.Abs(times[0].TimeUS-want) > 0.005 || times[0].LowUS >= want || times[0].HighUS <= want {
			t.Errorf("%d bytes: %+v, %v: want %g us within an interval", bytes, times, err, want)
		}
	}
	// A skewed all-to-all takes longer than a balanced one, on half of the GPUs, too.
	us := map[string]float64{}
	for _, traffic := range []string{"balanced", "skew:2"} {
		times, err := v.Times(Kind{Collective: "alltoallv", Bytes: 4 << 20, Ranks: 4, Nodes: 1, Stride: 2, Traffic: traffic})
		if err != nil || len(times) != 1 {
			t.Fatal(times, err)
		}
		us[traffic] = times[0].TimeUS
	}
	if us["skew:2"] <= us["balanced"] {
		t.Errorf("%v", us)
	}
	if _, err := v.Times(Kind{Collective: "allreduce", Bytes: 1 << 10, Ranks: 12, Nodes: 1}); err == nil || !strings.Contains(err.Error(), "want gpus_per_node = 8") {
		t.Error(err)
	}
	if _, err := Simulate(v, []string{"rccl"}); err == nil || !strings.Contains(err.Error(), `"rccl" can't be simulated on dgx-a100: want nccl or mpi`) {
		t.Error(err)
	}
}
