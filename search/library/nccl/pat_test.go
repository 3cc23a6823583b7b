package nccl

import (
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// TestPAT: NCCL takes PAT for all-gathers and reduce-scatters over many nodes of one GPU,
// where its ring's latency is longer and its trees' lower bandwidth costs less.
func TestPAT(t *testing.T) {
	for _, c := range []struct {
		topology   string
		gpus       []int
		nodes      int
		collective string
		bytes      int64
		want       string
	}{
		{"dgx-h100", []int{0}, 16, "allgather", 1 << 10, "pat"},
		{"dgx-h100", []int{0}, 16, "reducescatter", 1 << 20, "pat"},
		{"dgx-h100", []int{0}, 16, "allgather", 1 << 30, "ring"},
		{"dgx-h100", []int{0}, 4, "allgather", 1 << 10, "ring"}, // 22 us by LL's ring, 27 by PAT
		{"dgx-h100", []int{0}, 16, "allreduce", 1 << 10, "double-binary-tree"},
		{"dgx-h100", []int{0, 1}, 16, "allgather", 1 << 10, "ring"},
		{"perlmutter", nil, 16, "allgather", 1 << 10, "ring"},
	} {
		top, err := topologies.Resolve(c.topology, topologies.Options{Nodes: c.nodes, GPUs: c.gpus})
		if err != nil {
			t.Fatal(err)
		}
		coll, err := collective.New(collective.Spec{Name: c.collective, Ranks: len(top.Ranks), Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		all, err := ForcedChoices(top, coll, c.bytes, Forced{})
		if err != nil {
			t.Fatal(err)
		}
		got := all[0]
		if got.Family != c.want || (got.ClockUS > 0) != (c.want == "pat") || (got.Lacks != "") != (c.want == "pat") {
			t.Errorf("%s of %d bytes on %d × %d GPUs of %s: %+v, want %s", c.collective, c.bytes, c.nodes, len(c.gpus), c.topology, got, c.want)
		}
		if c.want == "pat" && !slices.ContainsFunc(all, func(c Choice) bool { return c.Family == "ring" }) {
			t.Errorf("%s of %d bytes on %d × %s: nothing stands in", c.collective, c.bytes, c.nodes, c.topology)
		}
	}
}
