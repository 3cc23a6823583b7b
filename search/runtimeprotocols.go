package search

import (
	"slices"

	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/topologies"
)

// dropDisabledProtocols drops protocols that the requested runtime corrupts data with on this
// system, or does not enable: msccl enables LL128 over NVLink of V100s and A100s only, unless
// NCCL_PROTO forces it. A user who names protocols may do that, so named ones
// stay; so do all if the architecture is not known.
func (o Options) dropDisabledProtocols(t *topologies.Topology) Options {
	if why := msccl.Corrupts(o.Runtime, topologies.LL.String(), func() string { return t.Arch }); why != "" && len(o.Protocols) == 0 && t.Has(topologies.LL) {
		o.Protocols = slices.DeleteFunc(t.HasProtocols(), func(p topologies.Proto) bool { return p == topologies.LL })
		o.Observer.Say(why + ": left out, but for --protocol LL")
	}
	if o.Runtime != "msccl" || len(o.Protocols) > 0 || t.Arch == "" || !t.Has(topologies.LL128) || EnablesLL128(t) {
		return o
	}
	o.Protocols = slices.DeleteFunc(t.HasProtocols(), func(p topologies.Proto) bool { return p == topologies.LL128 })
	o.Observer.Say("msccl does not enable LL128 here unless NCCL_PROTO forces it: left out, but for --protocol LL128")
	return o
}

// EnablesLL128 reports whether msccl is known to enable LL128 on a system by
// default.
func EnablesLL128(t *topologies.Topology) bool {
	return (t.Arch == "volta" || t.Arch == "ampere") && slices.ContainsFunc(t.Edges, func(e topologies.Edge) bool { return e.Kind == topologies.NVLink })
}
