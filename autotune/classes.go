package autotune

import (
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// class is a set of trials among which the best must be found for certain.
type class struct {
	name string
	doc  string
	has  func(c *candidate, proto topologies.Proto, tile, bytes int64) bool
}

// newClasses is the table of classes: all trials, for the winning table, and
// for every runtime the trials that it would itself run, for the exports. A
// program's verdict is looked up once a runtime and protocol.
func newClasses(elem int64) []class {
	classes := []class{{"any", "every trial", func(*candidate, topologies.Proto, int64, int64) bool { return true }}}
	for _, runtime := range results.Runtimes() {
		type question struct {
			c     *candidate
			proto topologies.Proto
		}
		accepts := map[question]bool{}
		classes = append(classes, class{runtime.Name, "what " + runtime.Name + " would load and run", func(c *candidate, proto topologies.Proto, tile, bytes int64) bool {
			if runtime.Runs(c.loopChunks, c.maxCount, proto.String(), tile, bytes, elem) != "" {
				return false
			}
			q := question{c, proto}
			yes, asked := accepts[q]
			if !asked {
				yes = runtime.Accepts(c.Program, proto.String()) == ""
				accepts[q] = yes
			}
			return yes
		}})
	}
	return classes
}
