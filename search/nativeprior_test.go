package search

import (
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// NCCL's algorithms have the times of its cost model as a prior, and what an executor says
// of its own goes before; an executor that is neither has none.
func TestPriorsOfNativeAlgorithms(t *testing.T) {
	p := &Problem{Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Topology: topotest.Resolve(t, "dgx-a100", 1), InPlace: true, Sizes: []int64{1 << 10}}
	priorOf := func(name string, otherLinks bool, a *executor.NativeAlgorithm, channels int) (prior func(int64, topologies.Proto) float64) {
		r, err := resolve(*p, Options{Executor: name, Capabilities: &Capabilities{Name: name, OtherLinks: otherLinks}})
		if err != nil {
			t.Fatal(err)
		}
		_ = r.eachPlacement(nil, nil, func(p *placement) error { prior = p.nativePrior(a, channels); return nil })
		return prior
	}
	at := func(algorithm string, channels int, bytes int64, proto topologies.Proto) float64 {
		prior := priorOf("nccl", false, &executor.NativeAlgorithm{Algorithm: algorithm}, channels)
		if prior == nil {
			return math.NaN()
		}
		return prior(bytes, proto)
	}
	c, err := collective.New(p.Spec(8, 1, true))
	if err != nil {
		t.Fatal(err)
	}
	for _, bytes := range []int64{1 << 10, 16 << 20, 1 << 30} {
		all, err := nccl.ForcedChoices(p.Topology, c, bytes, nccl.Forced{})
		if err != nil {
			t.Fatal(err)
		}
		choice := all[0]
		algorithm := map[string]string{"ring": "ring", "double-binary-tree": "tree"}[choice.Family]
		if got := at(algorithm, 0, bytes, choice.Protocol); got != choice.ModelUS {
			t.Errorf("%d bytes: prior %g of %s %v, want the model's %g", bytes, got, algorithm, choice.Protocol, choice.ModelUS)
		}
		for _, other := range []string{"ring", "tree"} {
			for _, proto := range topologies.AllProtocols {
				if got := at(other, 0, bytes, proto); got < choice.ModelUS {
					t.Errorf("%d bytes: prior %g of %s %v is below the choice's %g", bytes, got, other, proto, choice.ModelUS)
				}
			}
		}
	}
	all, few := at("ring", 0, 1<<30, topologies.Simple), at("ring", 6, 1<<30, topologies.Simple)
	if math.Abs(few/all-4) > 0.1 || at("ring", 64, 1<<30, topologies.Simple) != all {
		t.Errorf("prior %g over the library's 24 channels and %g over 6", all, few)
	}
	if !math.IsNaN(at("symmetric", 0, 1024, topologies.LL)) || !math.IsNaN(at("collnetchain", 0, 1024, topologies.Simple)) {
		t.Error("a prior of what the cost model does not have")
	}
	ring := &executor.NativeAlgorithm{Algorithm: "ring"}
	if priorOf("mine", false, ring, 0) != nil || priorOf("nccl", true, ring, 0) != nil {
		t.Error("NCCL's prior of another library, or of other links")
	}
	told := &executor.NativeAlgorithm{Algorithm: "ring", Priors: []executor.Prior{{Protocol: "LL", Bytes: 1024, US: 7}, {Bytes: 2048, US: 9}}}
	prior := priorOf("nccl", false, told, 0)
	if prior(1024, topologies.LL) != 7 || prior(1024, topologies.Simple) != 0 || prior(2048, topologies.Simple) != 9 {
		t.Error("the executor's own priors are others")
	}
}
