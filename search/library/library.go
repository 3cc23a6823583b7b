package library

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Options say what is known of the library and of the programs beside it.
type Options struct {
	Forced nccl.Forced // narrows the library's choice
	// Release is that of the library; the zero value is the newest released one of the system's vendor.
	Release Release
	// Registered is how the library knows the buffers as the user calls it.
	Registered nccl.Registered
	// Others says that it is also asked of the buffers in other states, which may be faster.
	Others bool
	// Given says that times as called are given: of other states only what window kernels take counts.
	Given bool
	// Windows says that the programs beside the library need their buffers in windows, too.
	Windows bool
	// Measured says that programs are timed by other than the simulator: then closed forms and
	// steady states, which are simulated, say nothing.
	Measured bool
	// Shipped says that times which ship with colltune come before any model (shipped.go).
	Shipped bool
	// Alone says that flags narrow the search, so that the library's programs are there for
	// comparison only, and cannot win.
	Alone bool
}

// Library says what the vendor's library takes for calls of a target, to one goroutine at a time.
type Library struct {
	build    *program.Builder
	target   program.Target
	options  Options
	system   *nccl.System // the topology as the release sees it
	say      func(string)
	drafts   map[string]drafted          // by what is run, without the protocol
	steadies map[steadyKey]*sim.Prepared // programs on the first nodes
	prepared map[*ir.Program]*sim.Prepared
}

// New returns the library of a builder's target. It tells say of calls without a time, and of
// those where another program stands in.
func New(b *program.Builder, o Options, say func(string)) *Library {
	t := b.Target()
	if o.Release == (Release{}) {
		o.Release = Newest(LibraryOf(t.Topology))
	}
	return &Library{build: b, target: t, options: o, system: o.Release.system(t.Topology), say: say,
		drafts: map[string]drafted{}, steadies: map[steadyKey]*sim.Prepared{}, prepared: map[*ir.Program]*sim.Prepared{}}
}

// forced narrows the library's choice by the call, with the buffers as called.
func (l *Library) forced() (f nccl.Forced, err error) {
	f = l.options.Forced
	f.Registered, f.DType, f.Op = l.options.Registered, l.target.DType, l.target.Op
	f.NoFiles = f.NoFiles || l.target.Op == "avg"
	f.ElemBytes, err = collective.ElemBytes(l.target.DType)
	return f, err
}

// ForcedChoices returns what the newest release of the library of a topology's vendor would
// choose, as nccl.ForcedChoices.
func ForcedChoices(t *topologies.Topology, c collective.Collective, bytes int64, f nccl.Forced) ([]nccl.Choice, error) {
	return Newest(LibraryOf(t)).system(t).Choices(c, bytes, f)
}
