package nccl

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/topologies"
)

// Left returns what a release of NCCL, nil being the newest, runs of a call by itself, on the topology of as many nodes and GPUs
// of each. Behind the choice stands what it runs where that is not for the call's operation
// and type, and last a ring with Simple, which always is.
func Left(r *Release, topology func(nodes, gpus int) (*topologies.Topology, error)) tuning.Left {
	systems := map[[2]int]*System{}
	return func(call tuning.Scope, bytes int64) ([]tuning.Config, error) {
		if call.Nodes < 1 || call.Ranks%call.Nodes != 0 {
			return nil, fmt.Errorf("%s: want the number of nodes, with as many ranks on each", call)
		}
		shape := [2]int{call.Nodes, call.Ranks / call.Nodes}
		s := systems[shape]
		if s == nil {
			t, err := topology(shape[0], shape[1])
			switch {
			case err != nil:
				return nil, err
			case t.Runtime == "rccl":
				return nil, fmt.Errorf("%s runs RCCL, which reads no file of NCCL's: want table export --to rccl-conf", t.Name)
			}
			s = NewSystem(t, r, nil)
			systems[shape] = s
		}
		c, err := collective.New(collective.Spec{Name: call.Collective, Ranks: call.Ranks, Chunks: 1})
		if err != nil {
			return nil, err
		}
		all, err := s.Choices(c, max(bytes, 1), Forced{})
		if err != nil {
			return nil, err
		}
		some := all[:1]
		for _, other := range all {
			if other.Algorithm != some[0].Algorithm && (some[0].Algorithm != "tree" && some[0].Algorithm != "ring") {
				some = append(some[:1:1], other)
				break
			}
		}
		ring, err := s.Choices(c, max(bytes, 1), Forced{Protocols: []topologies.Proto{topologies.Simple}, NoFiles: true})
		if err != nil {
			return nil, err
		}
		for _, r := range ring {
			if r.Algorithm == "ring" {
				some = append(some[:len(some):len(some)], r)
				break
			}
		}
		var configs []tuning.Config
		for _, x := range some {
			configs = append(configs, tuning.Config{Library: "nccl", Kernel: x.Algorithm, Protocol: x.Protocol.String(), Channels: x.Most})
		}
		return configs, nil
	}
}
