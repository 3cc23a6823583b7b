package library

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/library/rccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Options say what is known of the library and of the programs beside it.
type Options struct {
	Forced nccl.Forced // narrows the library's choice
	// Measured says that programs are timed by other than the simulator: then closed forms and
	// steady states, which are simulated, say nothing.
	Measured bool
	// Alone says that flags narrow the search, so that the library's programs are there for
	// comparison only, and cannot win.
	Alone bool
}

// Library says what the vendor's library takes for calls of a target, to one goroutine at a time.
type Library struct {
	build    *program.Builder
	target   program.Target
	options  Options
	say      func(string)
	steadies map[steadyKey]*sim.Prepared // programs on the first nodes
	prepared map[*ir.Program]*sim.Prepared
}

// New returns the library of a builder's target. It tells say of calls without a time, and of
// those where another program stands in.
func New(b *program.Builder, o Options, say func(string)) *Library {
	return &Library{build: b, target: b.Target(), options: o, say: say,
		steadies: map[steadyKey]*sim.Prepared{}, prepared: map[*ir.Program]*sim.Prepared{}}
}

// forced narrows the library's choice by the call.
func (l *Library) forced() (f nccl.Forced, err error) {
	f = l.options.Forced
	if !nccl.SwitchesReduce(l.target.Op, l.target.DType) {
		f.Without = "nvls"
	}
	f.NoFiles = f.NoFiles || l.target.Op == "avg"
	f.ElemBytes, err = collective.ElemBytes(l.target.DType)
	return f, err
}

// ForcedChoices returns what the library of a topology's runtime would choose, as
// nccl.ForcedChoices.
func ForcedChoices(t *topologies.Topology, c collective.Collective, bytes int64, f nccl.Forced) ([]nccl.Choice, error) {
	if t.Runtime == "rccl" {
		return rccl.ForcedChoices(t, c, bytes, f)
	}
	return nccl.ForcedChoices(t, c, bytes, f)
}
