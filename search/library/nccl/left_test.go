package nccl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
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
		part := func(nodes, gpus int) (*topologies.Topology, error) {
			first := make([]int, gpus)
			for i := range first {
				first[i] = i
			}
			return topologies.Resolve(system.name, topologies.Options{Nodes: nodes, GPUs: first})
		}
		shape := tuning.Scope{Collective: "allreduce", Ranks: len(top.Ranks), Nodes: top.Nodes}
		rules, err := tuning.WithLeft([]tuning.Rule{{Scope: shape, First: 3, Last: 3, Config: tuning.Config{Library: "nccl", Kernel: "ring", Protocol: "LL", Channels: 1}}}, Left(nil, part))
		if err != nil {
			t.Fatal(err)
		}
		reader, err := tuningtest.Read(format.Name, "f", tuning.TunerText(rules, nil))
		if err != nil {
			t.Fatal(err)
		}
		calls, shapes := 0, 0
		for nodes := 1; nodes <= top.Nodes; nodes *= 2 {
			for gpus := 1; gpus <= len(top.Ranks)/top.Nodes; gpus *= 2 {
				some, err := part(nodes, gpus)
				if err != nil || nodes*gpus == 1 {
					continue // nodes that can't be taken apart
				}
				step := int64(1) // a part's sizes are fewer
				if len(some.Ranks) == len(top.Ranks) {
					step = 7
				}
				calls += sameChoices(t, reader, some, step)
				shapes++
			}
		}
		t.Logf("%d %s: %d rows for %d calls of %d shapes", system.nodes, system.name, len(rules), calls, shapes)
	}
}

// sameChoices wants a file's rows for a topology's ranks to be the model's choices.
func sameChoices(t *testing.T, reader tuningtest.Reader, top *topologies.Topology, step int64) (calls int) {
	s := NewSystem(top, nil, nil)
	for _, name := range tuning.TunerCollectives {
		c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		for bytes := int64(4); bytes < 8<<30; bytes += bytes/step + 1 {
			all, err := s.Choices(c, bytes, Forced{})
			if err != nil {
				t.Fatal(err)
			}
			has := s.tuning.Channels // of the communicator
			if all[0].Algorithm == "nvls" || all[0].Algorithm == "nvlstree" {
				has = s.tuning.nvls.channels
			}
			want := fmt.Sprintln(all[0].Algorithm, all[0].Protocol, min(all[0].Most, has))
			chosen, ok := reader.Choose(tuning.Scope{Collective: name, Ranks: len(top.Ranks), Nodes: top.Nodes}, bytes)
			if got := fmt.Sprintln(chosen.Kernel, chosen.Protocol, min(chosen.Channels, has)); !ok || got != want {
				t.Fatalf("%s of %d bytes on %d x %d of %s: %s, want %s", name, bytes, top.Nodes, len(top.Ranks)/top.Nodes, top.Name, got, want)
			}
			calls++
		}
	}
	return calls
}

// RCCL reads no such file, and a system that isn't known has no rows.
func TestLeftRefuses(t *testing.T) {
	call := tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1}
	for _, f := range []func(int, int) (*topologies.Topology, error){
		func(int, int) (*topologies.Topology, error) { return resolve(t, "mi300x", 1), nil },
		func(int, int) (*topologies.Topology, error) { return nil, errors.New("unknown") },
		func(int, int) (*topologies.Topology, error) { return resolve(t, "dgx-a100", 2), nil }, // of 16 ranks
	} {
		if configs, err := Left(nil, f)(call, 1024); err == nil {
			t.Errorf("%+v", configs)
		}
	}
	call.Nodes = 0
	if configs, err := Left(nil, func(int, int) (*topologies.Topology, error) { return resolve(t, "dgx-a100", 1), nil })(call, 1024); err == nil {
		t.Errorf("nodes not stated: %+v", configs)
	}
}

// What is left is a release's: 2.30 runs Simple where later ones take a ring's start on Blackwell for longer.
func TestLeftIsARelease(t *testing.T) {
	b200 := func(int, int) (*topologies.Topology, error) { return resolve(t, "dgx-b200", 1), nil }
	for number, want := range map[int]string{23007: "Simple", 23203: "LL128"} {
		configs, err := Left(RowFor(number), b200)(tuning.Scope{Collective: "allgather", Ranks: 8, Nodes: 1}, 32<<20)
		if err != nil || configs[0].Kernel != "ring" || configs[0].Protocol != want {
			t.Errorf("%d: %+v, %v; want a ring with %s", number, configs, err, want)
		}
	}
}
