package search

import (
	"runtime"
	"time"

	"github.com/colltune/colltune/topologies"
)

// Options narrow a search, and say how it is run.
type Options struct {
	Families   []string           // only these; empty means all that apply
	Exclude    []string           // not these
	Templates  []Template         // the user's own, in addition to the built-in ones
	Parameters map[string]string  // template parameters that are fixed
	Channels   int                // fixes the parameter of that name; 0: tuned
	Instances  int                // fixes the number of instances; 0 means that it is tuned
	Protocols  []topologies.Proto // none: all
	TileBytes  int64              // fixes the tile; 0 means that it is tuned
	Runtime    string             // only programs that this runtime would load and run
	Executor   string             // sim or a plugin; it decides which bounds hold
	Solver     string             // auto, z3 or pb
	Timeout    time.Duration      // of a solver's query; 0 means the solvers' default
	Memory     int64              // bytes that the whole search may use; 0: no limit. What needs more is refused
	Jobs       int                // programs compiled at the same time; never changes the answer

	// Baseline is what every size is compared with; nil means what the vendor's
	// library would choose.
	Baseline *BaselineFile
	// Capabilities are what the executor says of itself. Run asks it; until then, an
	// unknown name may be the executor's.
	Capabilities *Capabilities

	Observer Observer // is told what happens
}

// jobs is how many things are done at the same time.
func (o *Options) jobs() int {
	if o.Jobs < 1 {
		return runtime.NumCPU()
	}
	return o.Jobs
}

// Template is a user's file of families.
type Template struct {
	Name string // as errors print it
	Text string
}

// instances are the numbers of instances of a whole program to try (GC3 5.1). 24
// is what NCCL's rings amount to on an A100; powers of two divide the sizes that
// MSCCL's readers accept.
var instances = []int{1, 2, 4, 8, 16, 24, 32}

func (o *Options) instanceCounts() []int {
	if o.Instances > 0 {
		return []int{o.Instances}
	}
	return instances
}
