package mscclpp

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// Lacks tells what keeps a program that is no plan from this runtime: that it is
// none, where format says what it is, and what keeps one from being made of it.
// protocol is empty where the program names none.
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
	return why
}

// written tells whether plans are written for a program's collective.
func written(p *ir.Program) bool {
	return p.Collective.Custom == nil && Does(p.Collective.Name)
}
