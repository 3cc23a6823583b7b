package autotune

import (
	"slices"

	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/topologies"
)

// class is a set of trials of which the fastest must be found.
type class struct {
	name     string
	doc      string
	contains func(*trial) bool
	// runtime would load and run these trials; nil: the class of all trials.
	runtime *export.Runtime
}

// newClasses makes the classes: all trials, for the winning table, and for every runtime
// the trials that it would run itself, for the exports. A runtime judges a program once
// for each protocol. One that has no programs for this operation and type has no class.
func newClasses(elem int64, op, dtype string) []class {
	classes := []class{{name: "any", doc: "every trial", contains: func(*trial) bool { return true }}}
	for _, runtime := range export.Runtimes() {
		if runtime.Computes(op, dtype) != "" {
			continue
		}
		classes = append(classes, class{runtime.Name, "what " + runtime.Name + " would load and run", runnableBy(runtime, elem), &runtime})
	}
	return classes
}

// runnableBy reports whether a runtime would load a trial's program and run it as the
// trial does.
func runnableBy(runtime export.Runtime, elem int64) func(*trial) bool {
	type question struct {
		c     *candidate
		proto topologies.Proto
	}
	accepts := map[question]bool{}
	return func(t *trial) bool {
		if runtime.Runs(&t.record, elem) != "" {
			return false
		}
		q := question{t.candidate, t.proto}
		yes, asked := accepts[q]
		if !asked {
			yes = runtime.Accepts(t.Program, t.proto.String()) == ""
			accepts[q] = yes
		}
		return yes
	}
}

// requiredClassOf finds the class that a trial must belong to: that of the problem's
// runtime, or any.
func requiredClassOf(p *Problem, classes []class) int {
	return max(slices.IndexFunc(classes, func(c class) bool { return c.name == p.Runtime }), 0)
}
