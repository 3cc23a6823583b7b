package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/ir"
)

// Lacks tells what keeps a program that is no plan from this runtime: that it is
// none, first of all, and what a plan has no room for or no word for. protocol
// is empty where the program names none.
func Lacks(p *ir.Program, format, protocol string) []string {
	why := []string{fmt.Sprintf("it loads execution plans in JSON: this is %s", format)}
	if protocol != "" && protocol != protocolSimple && protocol != protocolLL {
		why = append(why, fmt.Sprintf("protocol %s: plans have %s and %s", protocol, protocolSimple, protocolLL))
	}
	if n := p.MaxSteps(); n > MaxOperations {
		why = append(why, fmt.Sprintf("%d steps in a threadblock: at most %d operations", n, MaxOperations))
	}
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			for i, s := range p.GPUs[g].Threadblocks[t].Steps {
				if s.Op == ir.RecvReduceSend {
					return append(why, fmt.Sprintf("gpu %d threadblock %d step %d: %s, which stores its sum nowhere: every operation that sends one stores it", g, t, i, s.Op))
				}
			}
		}
	}
	return why
}
