package main

import (
	"slices"

	"github.com/colltune/colltune/results/export"
)

// phase is a part of a job, and what it costs beside the others. A stage of its name tells how
// far it is; other stages only say what is being done meanwhile.
type phase struct {
	name string
	cost float64
}

// The phases of a placement's search. They cost what is the middle of what they took in searches
// on dgx-a100, dgx-h100, mi300x and dgx-1, with 1 and 2 nodes: tracing 4 to 12 % of the time,
// compiling 29 to 77, tuning 18 to 60. Estimates take the place of the last two where nothing is
// compiled.
var (
	tracingPhase    = phase{"tracing families", 10}
	compilingPhase  = phase{"compiling candidates", 45}
	tuningPhase     = phase{"tuning", 45}
	estimatingPhase = phase{"estimating candidates", 10}
)

// searchJob is a search of n placements, which are tuned together.
func searchJob(placements int) []phase {
	each := slices.Repeat([]phase{tracingPhase, compilingPhase}, placements)
	return append(each, phase{tuningPhase.name, tuningPhase.cost * float64(placements)})
}

// estimateJob is the estimates of n placements.
func estimateJob(placements int) []phase {
	return slices.Repeat([]phase{tracingPhase, estimatingPhase}, placements)
}

// exportJob is the export of the programs of n campaigns. What its phases cost differs by
// format: plans of MSCCL++ are verified while they are chosen, and again while they are written.
func exportJob(campaigns int) []phase {
	return slices.Repeat([]phase{{export.Choosing, 5}, {export.Timing, 2}, {export.Writing, 3}}, campaigns)
}

// dispatcherJob is the export of a dispatcher of n campaigns, with short searches on numbers
// of nodes between theirs: the estimates on these and on both sides of each, the searches, and the
// programs of all.
func dispatcherJob(campaigns, between, placements int) []phase {
	return slices.Concat(estimateJob((2*between+1)*placements), slices.Repeat(searchJob(placements), between), exportJob(campaigns+between))
}
