package symmetric

import "math"

// railRing is the all-gather over nodes. Its model adds seconds and the library reads microseconds: it is chosen
// wherever it may run, and its score says nothing.
var railRing = &kernels[11]

const (
	railChunk  = 1 << 20 // bytes that a threadblock of railRing sends at a time
	netLatency = 14e-6   // seconds: NCCL's constant of rings with Simple
)

// rail is a row of the model of reduce-scatters over nodes (network.tsv): rates in B/s.
type rail struct{ cta, team, chunk float64 }

// overNetwork is a kernel over nodes, of bytes a rank.
func (r *Release) overNetwork(k *Kernel, s *System, bytes float64, most int) timed {
	if k == railRing {
		return timed{ctas: max(1, min(most, int(math.Ceil(bytes/railChunk)))), us: math.SmallestNonzeroFloat32}
	}
	x := lookup(models().network, r, s, k.Name)
	team, rails, net := float64(s.Team), float64(s.Ranks/s.Team), s.NetGBps*1e9
	reads, inbound := team, team-1 // of each part: reads, and what comes through the links
	if k.is(reduction) {
		reads, inbound = 1, team
	}
	// How often the data passes a threadblock, the links of the team, and the network.
	ofCTA, ofTeam, ofNet := reads+rails-1, inbound*rails, rails-1
	if s.Team > 1 {
		ofCTA += reads * (rails - 1)
	}
	links := min(x.team/ofTeam, net/ofNet)
	most = min(most, int(math.Ceil(min(1<<30, links/(x.cta/ofCTA)))))
	ctas := max(1, min(most, int(math.Ceil(bytes/x.chunk))))
	first := min(bytes, x.chunk*float64(ctas)) * (ofTeam/x.team + ofNet/net)
	return timed{ctas: ctas, us: float32(1e6 * (bytes/min(float64(ctas)*(x.cta/ofCTA), links) + first + netLatency))}
}
