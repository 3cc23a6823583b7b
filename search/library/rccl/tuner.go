package rccl

import (
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// gfx are AMD's names of architectures.
var gfx = map[string]string{"cdna2": "gfx90a", "cdna3": "gfx942", "cdna4": "gfx950"}

// tuned is what RCCL's built-in tuner names for a call.
type tuned struct {
	tree     bool
	protocol topologies.Proto
	channels int // 0: as many as without it
}

// names reports whether that is an algorithm with a protocol.
func (t *tuned) names(a nccl.Algorithm, p topologies.Proto) bool {
	return t.tree == a.Tree && t.protocol == p
}

// tunedTo is what AMD's rows say of a call, which releases without MSCCL have; those of several nodes since 2.30.7. nil: no row
// is for it.
func (m *model) tunedTo(collective string, bytes int64) *tuned {
	s := m.system
	if m.release.Files || s.Nodes() > 1 && m.release.number < 23007 {
		return nil
	}
	for _, r := range tuning.RCCLShipped(gfx[s.Topology().Arch]) {
		if r.Collective != collective || r.Ranks != s.Ranks() || r.Nodes != s.Nodes() || bytes < r.First || bytes > r.Last {
			continue
		}
		for _, p := range topologies.AllProtocols {
			if p.String() == r.Protocol {
				return &tuned{r.Kernel == "tree", p, r.Channels}
			}
		}
	}
	return nil
}
