package baseline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/topologies"
)

// Under a file with rows of what is left to NCCL, every call of its ranks runs what the model
// has it run without the file, on as many channels.
func TestLeftIsTheLibrarysChoice(t *testing.T) {
	format, err := tuning.Named("nccl-tuner-csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []struct {
		name  string
		nodes int
	}{
		{"dgx-1", 1}, {"dgx-a100", 1}, {"dgx-a100", 2}, {"dgx-a100", 4}, {"ndv4", 2}, {"dgx-2", 1}, {"dgx-h100", 1}, {"dgx-h100", 4},
		{"dgx-b200", 1}, {"perlmutter", 4}, {"l40s-8", 1}, {"gb200-nvl72", 1}, {"alps", 8},
	} {
		top := resolve(t, system.name, system.nodes)
		left := Left(func(int, int) (*topologies.Topology, error) { return top, nil })
		shape := tuning.Scope{Collective: "allreduce", Ranks: len(top.Ranks), Nodes: top.Nodes}
		rules, err := tuning.WithLeft([]tuning.Rule{{Scope: shape, First: 3, Last: 3, Config: tuning.Config{Library: "nccl", Kernel: "ring", Protocol: "LL", Channels: 1}}}, left)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := format.Read("f", tuning.TunerText(rules, nil))
		if err != nil {
			t.Fatal(err)
		}
		s := newSystem(top)
		calls := 0
		for _, name := range tuning.TunerCollectives {
			c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1})
			if err != nil {
				t.Fatal(err)
			}
			for bytes := int64(4); bytes < 8<<30; bytes += bytes/7 + 1 {
				all, err := s.choices(c, bytes, Forced{})
				if err != nil {
					t.Fatal(err)
				}
				has := min(2*s.graph.channels, maxChannels) // of the communicator
				if all[0].Algorithm == "nvls" || all[0].Algorithm == "nvlstree" {
					has = s.nvlsChannels()
				}
				want := fmt.Sprintln(all[0].Algorithm, all[0].Protocol, min(all[0].Most, has))
				shape.Collective = name
				chosen, ok := reader.Choose(shape, bytes)
				if got := fmt.Sprintln(chosen.Kernel, chosen.Protocol, min(chosen.Channels, has)); !ok || got != want {
					t.Fatalf("%s of %d bytes on %d %s: %s, want %s", name, bytes, system.nodes, system.name, got, want)
				}
				calls++
			}
		}
		t.Logf("%d %s: %d rows for %d calls", system.nodes, system.name, len(rules), calls)
	}
}

// RCCL reads no such file, and a system that isn't known has no rows.
func TestLeftRefuses(t *testing.T) {
	call := tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1}
	for _, f := range []func(int, int) (*topologies.Topology, error){
		func(int, int) (*topologies.Topology, error) { return resolve(t, "mi300x", 1), nil },
		func(int, int) (*topologies.Topology, error) { return nil, errors.New("unknown") },
		func(int, int) (*topologies.Topology, error) { return resolve(t, "dgx-a100", 2), nil }, // of 16 ranks
	} {
		if configs, err := Left(f)(call, 1024); err == nil {
			t.Errorf("%+v", configs)
		}
	}
	call.Nodes = 0
	if configs, err := Left(func(int, int) (*topologies.Topology, error) { return resolve(t, "dgx-a100", 1), nil })(call, 1024); err == nil {
		t.Errorf("nodes not stated: %+v", configs)
	}
}
