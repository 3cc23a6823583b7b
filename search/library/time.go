package library

import (
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// From says where a time of the library comes from.
type From string

// The sources of a time. Those that are given say more than any model: where a search is given
// them, or its executor can be left to choose, they are asked first (search/baselines.go, natives.go).
const (
	File        From = "file"                      // nccl-tests' output, given for the search
	Measured    From = "measured"                  // the fastest row of tables of libraries, given for the search
	Shipped     From = "shipped"                   // measured elsewhere on a system of the catalogue (shipped.go)
	Executor    From = "the executor's own choice" // a trial in which it is left to choose
	Vendor      From = "the vendor's model"        // of kernels for windows, and of what no measurement was at hand
	ClosedForm  From = "closed form"               // of what no program here does
	SteadyState From = "steady state"              // of fewer nodes, or of a program that is too large to be a candidate
	Program     From = "program"                   // the simulated time, or the trial, of the library's choice
	Unclocked   From = "nothing"                   // a choice of which nothing says the time
)

// Time is what the library takes for a call.
type Time struct {
	Bytes    int64
	Name     string // ring ×24 LL
	From     From
	Protocol topologies.Proto
	Tile     int64          // its chunk, in bytes; 0: the protocol's own
	Draft    *program.Draft // of those from a program
	Program  *ir.Program    // the same, once it is built
	StandIn  bool           // the library runs what has no time here, as NVLS, and otherwise this
	US       float64        // in microseconds; 0 of those from a program that was not simulated: Of then gives it; and where nothing says it
	ExtraUS  float64        // what the call takes beyond its program's simulated time; below 0: less
	LeastUS  float64        // what it takes at least

	Release    Release
	Registered nccl.Registered // as asked
	Reached    nccl.Registered // the least registered state in which the release runs the same
	Evidence   nccl.Evidence
	CTAs       int     // threadblocks of a GPU that run it; 0: not known, or none
	CopiesUS   float64 // of US: what copies into windows and out of them take

	choice *nccl.Choice
	built  *program.Built // of a setting's from a program
}

// Of is the library's time in microseconds, given the simulated time of its program.
func (t *Time) Of(simulatedUS float64) float64 { return max(simulatedUS+t.ExtraUS, t.LeastUS) }

// Knobs are those with which the program is simulated; elem is the width of an element in
// bytes.
func (t *Time) Knobs(elem int64) sim.Knobs {
	return sim.Knobs{Bytes: t.Bytes, Protocol: t.Protocol, TileBytes: t.Tile, ElemBytes: elem}
}
