package nccl_test

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

func chosen(t *testing.T, top *topologies.Topology, name string, bytes int64) string {
	t.Helper()
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	all, err := nccl.ForcedChoices(top, c, bytes, nccl.Forced{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %v ×%d %v", all[0].Family, all[0].Parameters, all[0].Channels, all[0].Protocol)
}

// TestCountedChooses: what links carry may be fitted to any number: the library chooses by what
// it counts of them.
func TestCountedChooses(t *testing.T) {
	for _, system := range []struct {
		name  string
		nodes int
	}{{"dgx-h100", 1}, {"dgx-h100", 2}, {"dgx-1", 1}, {"mi300x", 1}, {"l40s-8", 1}, {"rtx-pro-6000-8", 1}} {
		top := topotest.Resolve(t, system.name, system.nodes)
		links := map[topologies.LinkKind]float64{}
		for i, kind := range top.Kinds() {
			links[kind] = []float64{0.4, 1.7}[i%2]
		}
		fitted := top.Calibrated(topologies.Calibration{Links: links})
		for _, name := range []string{"allreduce", "allgather", "alltoall"} {
			for bytes := int64(1 << 10); bytes <= 1<<30; bytes <<= 4 {
				if got, want := chosen(t, fitted, name, bytes), chosen(t, top, name, bytes); got != want {
					t.Errorf("%d x %s, %s of %d bytes: %s with fitted links, and %s", system.nodes, system.name, name, bytes, got, want)
				}
			}
		}
	}
}

// TestChannelsOfParts: GPUs on one side of a narrow link do not share it. Rows of 2, 4 and 8 RTX
// PRO 6000 ask for 4 channels within a pair, and for 2 where a ring crosses.
func TestChannelsOfParts(t *testing.T) {
	for _, c := range []struct {
		gpus int
		want string
	}{{2, "ring map[rings:1] ×4 Simple"}, {4, "ring map[rings:1] ×2 Simple"}, {8, "ring map[rings:1] ×2 Simple"}} {
		gpus := make([]int, c.gpus)
		for i := range gpus {
			gpus[i] = i
		}
		top, err := topologies.Resolve("rtx-pro-6000-8", topologies.Options{GPUs: gpus})
		if err != nil {
			t.Fatal(err)
		}
		if got := chosen(t, top, "allreduce", 64<<20); got != c.want {
			t.Errorf("%d GPUs: %s, want %s", c.gpus, got, c.want)
		}
	}
}
