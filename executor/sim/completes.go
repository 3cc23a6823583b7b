package sim

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor"
)

// Completes divides sizes into those at which a program completes under a trial's knobs and the
// FIFO slots of its system, and those at which it would hang, as a step of several chunks then
// takes more calls than a connection has slots. why is what the verifier says of the last of
// these. An unknown element type is an error.
func Completes(p *ir.Program, c collective.Collective, t executor.Trial, sizes []int64) (completes, hangs []int64, why, err error) {
	elem, err := collective.ElemBytes(t.DType)
	if err != nil {
		return nil, nil, nil, err
	}
	said := map[int]error{} // by chunks a call
	for _, n := range sizes {
		chunks := int64(c.LoopChunks())
		calls := CallChunks((n/elem+chunks-1)/chunks*elem, t.TileBytes)
		if _, known := said[calls]; !known {
			o := verify.Options{Slots: t.Topology.Protocols[t.Protocol].Slots, CallChunks: calls, Linked: t.Topology.Linked}
			said[calls] = verify.Check(p, o).Err()
		}
		if said[calls] == nil {
			completes = append(completes, n)
		} else {
			hangs, why = append(hangs, n), said[calls]
		}
	}
	return completes, hangs, why, nil
}
