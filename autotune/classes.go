package autotune

import (
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// class is a set of trials among which the best must be found for certain.
type class struct {
	name string
	doc  string
	has  func(*trial) bool
}

// newClasses is the table of classes: all trials, for the winning table, and
// for every runtime the trials that it would itself run, for the exports. A
// program's verdict is looked up once a runtime and protocol.
func newClasses(elem int64) []class {
	classes := []class{{"any", "every trial", func(*trial) bool { return true }}}
	for _, runtime := range results.Runtimes() {
		type question struct {
			c     *candidate
			proto topologies.Proto
		}
		accepts := map[question]bool{}
		classes = append(classes, class{runtime.Name, "what " + runtime.Name + " would load and run", func(t *trial) bool {
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
		}})
	}
	return classes
}
