package autotune

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
)

// class is a set of trials of which the fastest must be found.
type class struct {
	name     string
	doc      string
	contains func(*results.Trial, *ir.Program) bool // a trial of a program; nil: a native algorithm
	// runtime would load and run these trials; nil: the class of all trials.
	runtime *export.Runtime
}

// newClasses makes the classes: all trials, for the winning table, for every runtime the trials that it
// would run itself, for the exports, and for every one of table.Caps those that take no more SMs, for the
// front of time against SMs. The runtimes judge a program once.
// One that has no programs for this operation and type has no class.
func newClasses(elem int64, op, dtype string) []class {
	classes := []class{
		{name: "any", doc: "every trial", contains: func(*results.Trial, *ir.Program) bool { return true }},
		{name: "program", doc: "every program, for exports beside the library's settings", contains: func(_ *results.Trial, p *ir.Program) bool { return p != nil }},
	}
	known := map[*ir.Program]map[string][]string{} // protocols under which each runtime loads it
	loads := func(runtime, proto string, p *ir.Program) bool {
		readers, asked := known[p]
		if !asked {
			readers = export.Readers(p)
			known[p] = readers
		}
		return slices.Contains(readers[runtime], proto)
	}
	for _, runtime := range export.Runtimes() {
		if runtime.Computes(op, dtype) != "" {
			continue
		}
		runnable := func(t *results.Trial, p *ir.Program) bool {
			return runtime.Runs(t, elem) == "" && loads(runtime.Name, t.Protocol, p)
		}
		classes = append(classes, class{name: runtime.Name, doc: "what " + runtime.Name + " would load and run", contains: runnable, runtime: &runtime})
	}
	for _, most := range table.Caps {
		fits := func(t *results.Trial, _ *ir.Program) bool { return table.Fits(t, most) && !t.IsSetting() }
		classes = append(classes, class{name: fmt.Sprintf("%d SMs", most), doc: fmt.Sprintf("programs that take at most %d SMs", most), contains: fits})
	}
	return classes
}

// requiredClassOf finds the class that a trial must belong to: that of the problem's
// runtime, or any.
func requiredClassOf(p *Problem, classes []class) int {
	return max(slices.IndexFunc(classes, func(c class) bool { return c.name == p.Runtime }), 0)
}
