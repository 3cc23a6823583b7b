package search

import (
	"runtime"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Options narrow a search, and say how it is run.
type Options struct {
	Families  []string   // only these; empty means all that apply
	Exclude   []string   // not these
	Routings  []string   // only these, as Routing names them; empty means all
	Templates []Template // the user's own, in addition to the built-in ones
	// RefuseMissingLinks makes a link that a program of Templates lacks a refusal, not an
	// error.
	RefuseMissingLinks bool
	Parameters         map[string]string  // template parameters that are fixed
	Channels           int                // fixes the parameter of that name; 0: tuned
	Instances          int                // fixes the number of instances; 0: tuned
	Protocols          []topologies.Proto // none: all
	TileBytes          int64              // fixes the tile, in bytes; 0: tuned
	MaxSMs             int                // SMs of a GPU that a program may take; 0: all
	Uncapped           bool               // no program is made anew for fewer SMs
	Runtime            string             // only programs that this runtime would load and run
	Strategy           string             // which trial is made next, one of autotune.Strategies; empty: the executor's
	Gain               float64            // a strategy is done with a size where it expects less than this part of its time; 0: autotune.DefaultGain
	Executor           string             // sim or a plugin; it decides which bounds hold
	Solver             string             // auto, z3 or pb
	Timeout            time.Duration      // of a solver's query; 0: the solvers' default
	Memory             int64              // bytes that the whole search may use; 0: no limit. What needs more is refused
	Jobs               int                // programs compiled at the same time; never changes the answer

	// Baseline is a file of times to compare with; nil: the modelled choice of the
	// vendor's library.
	Baseline *BaselineFile
	// Libraries are times of libraries that stand beside the programs: the fastest is what a
	// size is compared with, unless Baseline is given.
	Libraries []GivenLibrary
	// Release is that of the vendor's library; the zero value leaves it to LibraryRelease.
	Release library.Release
	// Registered is how the library knows the buffers as the user calls it. If it is nil they are not
	// registered, and the baseline is the library in its fastest state.
	Registered *nccl.Registered
	// Unregistered says that the library is asked of no other state, as campaigns were before they
	// told states apart.
	Unregistered bool
	// Earlier are campaigns of the same executor whose times the strategy learns from.
	Earlier []Earlier
	// Capabilities are what the executor says of itself. Run asks it; until then, an
	// unknown name may be the executor's.
	Capabilities *Capabilities

	Observer program.Observer // the zero value ignores all
}

// jobs returns the number of parallel jobs: Jobs, or one a CPU.
func (o *Options) jobs() int {
	if o.Jobs < 1 {
		return runtime.NumCPU()
	}
	return o.Jobs
}

// simulates reports whether trials are simulated, as they are where no executor is named.
func (o *Options) simulates() bool { return o.Executor == "" || executor.IsModel(o.Executor) }

// building are the options for building programs, with a cache or none.
func (o *Options) building(cache *program.Cache) program.Options {
	return program.Options{
		Families: o.Families, RefuseMissingLinks: o.RefuseMissingLinks, Parameters: o.Parameters, Channels: o.Channels, Instances: o.Instances,
		Protocols: o.Protocols, TileBytes: o.TileBytes, MaxSMs: o.MaxSMs, Runtime: o.Runtime, Simulated: o.simulates(), Memory: program.Memory(o.Memory),
		Jobs: o.Jobs, Solver: o.Solver, Timeout: o.Timeout, Cache: cache, Observer: o.Observer,
	}
}

// Template is a user's file of families.
type Template struct {
	Name string // as errors print it
	Text string
}

// narrowed reports whether flags exclude programs or knobs that the vendor's library
// may choose. Its choice is then measured for comparison, and cannot win.
func (o *Options) narrowed() bool {
	return len(o.Families)+len(o.Exclude)+len(o.Routings)+len(o.Parameters)+len(o.Protocols) > 0 ||
		o.Channels > 0 || o.Instances > 0 || o.TileBytes > 0 || o.MaxSMs > 0 || o.Runtime != ""
}
