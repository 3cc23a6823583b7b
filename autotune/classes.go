package autotune

import (
	"slices"

	"github.com/colltune/colltune/results/export"
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
// the trials that it would run itself, for the exports. The runtimes judge a program once.
// One that has no programs for this operation and type has no class.
func newClasses(elem int64, op, dtype string) []class {
	classes := []class{{name: "any", doc: "every trial", contains: func(*trial) bool { return true }}}
	known := map[*candidate]map[string][]string{} // protocols under which each runtime loads it
	loads := func(runtime string, t *trial) bool {
		readers, asked := known[t.candidate]
		if !asked {
			readers = export.Readers(t.Program)
			known[t.candidate] = readers
		}
		return slices.Contains(readers[runtime], t.proto.String())
	}
	for _, runtime := range export.Runtimes() {
		if runtime.Computes(op, dtype) != "" {
			continue
		}
		runnable := func(t *trial) bool { return runtime.Runs(&t.record, elem) == "" && loads(runtime.Name, t) }
		classes = append(classes, class{runtime.Name, "what " + runtime.Name + " would load and run", runnable, &runtime})
	}
	return classes
}

// requiredClassOf finds the class that a trial must belong to: that of the problem's
// runtime, or any.
func requiredClassOf(p *Problem, classes []class) int {
	return max(slices.IndexFunc(classes, func(c class) bool { return c.name == p.Runtime }), 0)
}
