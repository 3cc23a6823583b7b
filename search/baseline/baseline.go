package baseline

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// Choice is what the vendor's library would run, as a program of ours: a
// family's routing with Parameters, in Channels copies.
type Choice struct {
	// Family is ring, double-binary-tree, chain (the ring of broadcast and
	// reduce), or direct.
	Family string
	// Parameters of the family: rings or trees that leave a node by different
	// GPUs. The data is divided between them.
	Parameters map[string]int
	Protocol   topologies.Proto
	// Channels is how many copies of the routing run side by side, each over
	// its part of the data. Times the rings (twice the trees) it is what the
	// library calls channels, rounded up.
	Channels int
	// ModelUS is the library's own estimate of the time, in microseconds.
	ModelUS float64
}

// Choose finds the library's choice for a call of that many bytes, as nccl-tests
// prints them. The error says that the collective and the topology do not fit.
func Choose(t *topologies.Topology, c collective.Collective, bytes int64) (Choice, error) {
	switch {
	case c.Ranks != len(t.Ranks):
		return Choice{}, fmt.Errorf("%s over %d ranks on %s of %d: want as many", c.Name, c.Ranks, t.Name, len(t.Ranks))
	case c.Ranks < 2:
		return Choice{}, fmt.Errorf("%s over one rank: nothing to choose", c.Name)
	case bytes < 1:
		return Choice{}, fmt.Errorf("%s of %d bytes: want at least 1", c.Name, bytes)
	}
	s := newSystem(t)
	if peers, ok := pointToPoint[c.Name]; ok {
		return s.direct(peers(c.Ranks), bytes), nil
	}
	best := Choice{ModelUS: math.Inf(1)}
	for _, a := range algorithms {
		if !a.runs(c.Name, s) {
			continue
		}
		for _, p := range topologies.AllProtocols {
			if !s.available(p) {
				continue
			}
			if us := s.time(a, p, c.Name, bytes); us < best.ModelUS {
				best = a.program(s, s.reduced(a, p, bytes))
				best.Protocol, best.ModelUS = p, us
			}
		}
	}
	if best.Channels == 0 {
		return Choice{}, fmt.Errorf("%s: the library has no algorithm for it", c.Name)
	}
	return best, nil
}

// reduced is the library's channels for a size: all of them, or as few as leave
// each thread enough to do (topoGetAlgoInfo).
func (s *system) reduced(a *algorithm, p topologies.Proto, bytes int64) int {
	channels := 2 * s.graph.channels // doubled after the search, for rings and trees
	channels = min(channels, maxChannels)
	each := int64(threads[p] * threadThreshold[p])
	if p == topologies.Simple && s.graph.intra*float64(s.graph.channels) <= pciBandwidth {
		each /= 2 // half the threads
	}
	if a.ring && p == topologies.LL {
		each *= int64(s.n)
	}
	for channels > 1 && bytes < int64(channels)*each {
		channels--
	}
	return channels
}

// powerUpTo is the largest of the families' counts, 1, 2, 4 and 8, up to n.
func powerUpTo(n int) int {
	for _, p := range []int{8, 4, 2} {
		if n >= p {
			return p
		}
	}
	return 1
}

// copies is how many times a routing over that many channels must be there to
// have all of the library's.
func copies(channels, of int) int { return (channels + of - 1) / of }
