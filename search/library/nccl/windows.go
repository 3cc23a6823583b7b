package nccl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/symmetric"
	"github.com/colltune/colltune/topologies"
)

// CopyEngine is the Kernel of a Choice that runs no threadblocks.
const CopyEngine = "copy engine"

// windows is a system whose calls are on windows.
type windows struct{ *System }

// choice is what the library runs for a call on windows, before its general choices, of which it is given the first; ok
// is false where that runs.
func (s windows) choice(c collective.Collective, bytes int64, f Forced, general *Choice) (_ Choice, ok bool) {
	release, call, ok := s.asked(c, bytes, f)
	if !ok {
		return Choice{}, false
	}
	chosen, ok := release.Choose(s.communicator(), call)
	if !ok || chosen.IfLL && general.Protocol != topologies.LL {
		return Choice{}, false
	}
	return s.clocked(release, call, chosen, bytes), true
}

// settings are what variables make the library run for a call on windows.
func (s windows) settings(c collective.Collective, bytes int64, f Forced) (all []Choice) {
	release, call, ok := s.asked(c, bytes, f)
	if !ok {
		return nil
	}
	for _, x := range release.Settings(s.communicator(), call) {
		all = append(all, s.clocked(release, call, x, bytes))
	}
	return all
}

// asked is the release that a call on windows asks, and the call as it sees that; ok is false where it has no kernels
// for the system.
func (s windows) asked(c collective.Collective, bytes int64, f Forced) (release *symmetric.Release, call symmetric.Call, ok bool) {
	release = symmetric.Of(s.release.Number)
	if release == nil || s.fork != nil || f.Before222 || !s.linkedToAll() || s.nodes > 1 && s.byPlugin() {
		return nil, call, false
	}
	call = symmetric.Call{Collective: c.Name, ElemBytes: cmp.Or(f.ElemBytes, 4), DType: cmp.Or(f.DType, "f32"), Op: cmp.Or(f.Op, "sum"),
		InPlace: c.InPlace}
	parts := int64(1)
	if c.Name != "allreduce" {
		parts = int64(s.n)
	}
	call.Count = max(bytes/parts/call.ElemBytes, 1)
	call.Send, call.Recv = release.Asks(c.Name, s.nodes > 1)
	if c.InPlace { // one buffer is part of the other
		call.Send, call.Recv = true, true
	}
	return release, call, true
}

// clocked is a choice of a release's for a call of a number of bytes, with its time here.
func (s windows) clocked(release *symmetric.Release, call symmetric.Call, chosen symmetric.Choice, bytes int64) Choice {
	choice := Choice{Family: "symmetric", Kernel: chosen.Kernel, CTAs: chosen.CTAs, Channels: chosen.CTAs, Blocks: chosen.CTAs, Protocol: topologies.Simple,
		Lacks: "its kernels work on windows, for which no program here stands", ModelUS: chosen.US}
	if chosen.Kernel == "" {
		choice.Kernel = CopyEngine
	}
	if chosen.US > 0 {
		short := call
		short.Count = 1
		latency, _ := release.Time(chosen.Kernel, s.communicator(), short, chosen.CTAs)
		choice.ClockUS, choice.Evidence = max(chosen.US, (latency+s.least(call.Collective, choice.Kernel, bytes))*max(chosen.Longer, 1)), Predicted
	}
	return choice
}

// communicator is the system as kernels on windows see it.
func (s windows) communicator() symmetric.System {
	team := 0 // as large as divides each node
	for node := range s.nodes {
		team = divisor(team, len(s.t.NodeRanks(node)))
	}
	return symmetric.System{Capability: s.tuning.OldestGPU, Ranks: s.n, Team: team, Multicast: s.tuning.nvls.channels > 0,
		NetGBps: s.graph.network * float64(s.nodes) / float64(s.n), ARM: s.t.CPU == "arm"}
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// byPlugin reports whether a plug-in carries messages between nodes: GPUs then do not start them (GIN), which kernels
// on windows over nodes need.
func (s windows) byPlugin() bool {
	return slices.ContainsFunc(s.t.Vertices, func(v topologies.Vertex) bool {
		return v.Kind == topologies.Fabric && (strings.Contains(v.Name, "slingshot") || strings.Contains(v.Name, "efa"))
	})
}

// linkedToAll reports whether NVLinks lead from each GPU to all others of its node, directly or through switches.
func (s windows) linkedToAll() bool {
	for r := range s.t.Ranks {
		peers, switched := 0, false
		for _, e := range s.t.Out(r) {
			if edge := s.t.Edges[e]; edge.Kind == topologies.NVLink {
				peers++
				switched = switched || s.t.Vertices[edge.To].Kind == topologies.Switch
			}
		}
		if !switched && peers < len(s.t.NodeRanks(s.t.Ranks[r].Node))-1 {
			return false
		}
	}
	return true
}

// rackGBps is what a GPU of a rack sends for reductions by the switches, above the GPUs of a box: 72 of a GB200 NVL72 were
// measured at 846.8 GB/s of bus bandwidth (coreweave/nccl-tests#43).
const (
	rackGBps = 435
	boxGPUs  = 8
)

// least is how long the bytes of a call on windows take at least, in microseconds: as fast as the library counts
// a GPU's links, as the wires of these for copy engines, and where switches reduce as fast as NVLS was measured at its
// largest sizes (nvlsRates). The library's model is of H100 and B200, whose links other GPUs do not have, and goes above
// what the switches do.
func (s windows) least(collective, kernel string, bytes int64) float64 {
	passes, rate := float64(s.n-1)/float64(s.n), s.graph.egress
	switch {
	case kernel == "AllReduce_RSxLDMC_AGxSTMC":
		const large = 4 << 30
		us := float64(bytes) / large * (s.nvlsClock(Call{Bytes: 2 * large}) - s.nvlsClock(Call{Bytes: large}))
		if s.n/s.nodes > boxGPUs {
			us = max(us, (1+1/float64(s.n))*float64(bytes)/(1000*rackGBps))
		}
		return us
	case kernel == CopyEngine:
		rate /= s.arch.nvlink
	case collective == "allreduce":
		passes *= 2
	}
	return passes * float64(bytes) / (1000 * rate)
}
