package mscclpp

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// Lacks lists what keeps a program that is not a plan from running on this
// runtime: that it is in another format, which format names, and whatever prevents
// a plan from being made of it. protocol is empty if the program names none.
func Lacks(p *ir.Program, format, protocol string) (why []string) {
	if format != "" {
		why = append(why, fmt.Sprintf("it loads execution plans in JSON: this is %s", format))
	}
	if protocol != "" && !slices.Contains(Protocols(), protocol) {
		why = append(why, fmt.Sprintf("protocol %s: plans have %s", protocol, list(Protocols())))
	}
	if !written(p) {
		why = append(why, fmt.Sprintf("%s: plans are written for %s", p.Collective.Name, list(collectives)))
	}
	if few := tooMany(p); few != "" {
		why = append(why, few)
	}
	return why
}

// tooMany says by how much a program is too large for a plan to be made and
// verified; it is empty if it is not.
func tooMany(p *ir.Program) string {
	threadblocks, steps := 0, 0
	for g := range p.GPUs {
		threadblocks += len(p.GPUs[g].Threadblocks)
		for t := range p.GPUs[g].Threadblocks {
			steps += len(p.GPUs[g].Threadblocks[t].Steps)
		}
	}
	switch {
	case threadblocks > maxClocks:
		return fmt.Sprintf("%d threadblocks over all GPUs: a plan is made and verified of at most %d", threadblocks, maxClocks)
	case int64(threadblocks)*int64(steps) > maxOrder:
		return fmt.Sprintf("%d steps over %d threadblocks: with so many a plan is made of at most %d", steps, threadblocks, maxOrder/threadblocks)
	}
	return ""
}

// written reports whether plans can be written for a program's collective.
func written(p *ir.Program) bool {
	return p.Collective.Custom == nil && Supports(p.Collective.Name)
}
