package sim

import (
	"cmp"
	"context"
	"slices"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Change is one change of a system, and the time of the same call with it.
type Change struct {
	What   string  `json:"change"`
	TimeUS float64 `json:"time_us"`
	Gain   float64 `json:"gain"` // time before ÷ after
}

// whatIf halves a cost of the system, or doubles a capacity. It reports whether there is
// one.
type whatIf struct {
	what string
	make func(t *topologies.Topology, p *topologies.Protocol) bool
}

// protocolChanges are those of a protocol's constants.
var protocolChanges = []whatIf{
	{"half the launch", func(_ *topologies.Topology, p *topologies.Protocol) bool {
		return halve(&p.Launch, &p.NetStart)
	}},
	{"half the latency", func(t *topologies.Topology, p *topologies.Protocol) bool {
		any := halve(&p.Latency, &p.Credit, &p.NetLatency)
		for i := range t.Edges {
			any = halve(&t.Edges[i].Latency) || any
		}
		return any
	}},
	{"twice the rate of threadblocks", func(_ *topologies.Topology, p *topologies.Protocol) bool {
		any := halve(&p.SendPass, &p.RecvPass, &p.ReducePass, &p.CopyPass)
		return double(&p.SendRate, &p.RecvRate) || any
	}},
	{"half the fixed cost of a step", func(_ *topologies.Topology, p *topologies.Protocol) bool {
		return halve(&p.SendCall, &p.RecvCall, &p.SendSlice, &p.RecvSlice, &p.ReduceCall)
	}},
	{"twice the slots", func(_ *topologies.Topology, p *topologies.Protocol) bool {
		p.Slots *= 2
		return true
	}},
	{"half the cost of a dependency", func(_ *topologies.Topology, p *topologies.Protocol) bool {
		return halve(&p.Dep, &p.Nop)
	}},
	{"twice the rate of a connection over the network", func(_ *topologies.Topology, p *topologies.Protocol) bool {
		return double(&p.NetRate)
	}},
	{"half the cost of a message on a NIC", func(t *topologies.Topology, _ *topologies.Protocol) bool {
		any := false
		for i := range t.Edges {
			any = halve(&t.Edges[i].Message) || any
		}
		return any
	}},
	{"twice the memory's rate", func(t *topologies.Topology, _ *topologies.Protocol) bool {
		any := false
		for i := range t.Ranks {
			any = double(&t.Ranks[i].Memory) || any
		}
		return any
	}},
}

// linkChange doubles the bandwidth of a kind of link.
func linkChange(kind topologies.LinkKind) whatIf {
	return whatIf{"twice the bandwidth of " + kind.String(), func(t *topologies.Topology, _ *topologies.Protocol) bool {
		for i := range t.Edges {
			if e := &t.Edges[i]; e.Kind == kind {
				e.Bandwidth *= 2
			}
		}
		return true
	}}
}

func halve(all ...*units.Duration) bool {
	any := false
	for _, d := range all {
		any = any || *d > 0
		*d /= 2
	}
	return any
}

func double(all ...*units.Bandwidth) bool {
	any := false
	for _, w := range all {
		any = any || *w > 0
		*w *= 2
	}
	return any
}

// Changes simulates a trial on systems of which one cost is halved or one capacity doubled,
// about a dozen, and lists them by gain. Errors are those of a run.
func Changes(ctx context.Context, t executor.Trial) ([]Change, error) {
	k, err := knobsOf(t)
	if err != nil {
		return nil, err
	}
	run := func(on *topologies.Topology) (float64, error) {
		p, err := Prepare(t.Program, on)
		if err != nil {
			return 0, err
		}
		r, err := p.RunContext(ctx, k)
		return r.TimeUS, err
	}
	before, err := run(t.Topology)
	if err != nil {
		return nil, err
	}
	var all []Change
	possible := slices.Clone(protocolChanges)
	for _, kind := range t.Topology.Kinds() {
		possible = append(possible, linkChange(kind))
	}
	for _, ch := range possible {
		on := t.Topology.Clone()
		if !ch.make(on, &on.Protocols[k.Protocol]) {
			continue
		}
		after, err := run(on)
		if err != nil {
			return nil, err
		}
		gain := 1.0
		if after > 0 {
			gain = before / after
		}
		all = append(all, Change{ch.what, after, gain})
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(b.Gain, a.Gain) })
	return all, nil
}
