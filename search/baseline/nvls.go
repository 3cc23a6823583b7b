package baseline

import "math"

// nvls reports whether the switches of a node reduce what GPUs send: NVSwitch of the
// third generation, which came with Hopper.
func (s *system) nvls() bool {
	return s.arch.generation >= hopper && s.nvlink && s.switched() && s.n/s.nodes > 1
}

// nvlsBandwidth is the bus bandwidth that the library expects of NVLS, and of its
// trees from two nodes on. Each GPU is the head of a channel, as far as there are
// heads and, between nodes, NICs.
func (s *system) nvlsBandwidth() float64 {
	gpus := s.n / s.nodes
	heads, speeds := min(gpus, nvlsHeads), s.arch.speeds.intra
	most := s.graph.egress * float64(gpus) / float64(gpus-1) // a head need not send to itself
	if s.nodes > 1 {
		heads, speeds = min(heads, s.graph.ways), s.arch.speeds.inter
		most = math.Min(most, s.graph.network)
	}
	inside := 0.0
	for _, speed := range speeds {
		if speed*float64(heads) <= most {
			inside = speed
			break
		}
	}
	// Reduced data comes up while other data goes down.
	up := 2 * inside * nvlsEfficiency[s.arch.generation] * float64(heads-1) / float64(heads)
	switch {
	case heads < 2:
		return 0
	case s.nodes == 1: // nothing crosses: the fastest speed there is
		return float64(heads) * math.Min(up, speeds[0])
	case s.nodes == 2:
		inside *= 2
	}
	return float64(heads) * min(up, inside, nvlsTreePerCh[s.arch.generation][s.column()])
}
