package nccl

// heads is how many GPUs of a node reduce in its switches, each the head of a channel, as far as
// there are heads and, between nodes, NICs; and with how many GB/s inside a node and between nodes
// (ncclTopoSearchTryNvls). Each GPU's links carry every head's part, and its own twice; between
// nodes, or between none on a single one, a speed is then raised on its own, up to twice that inside.
func (s *System) heads() (heads int, intra, inter float32) {
	gpus, speeds := s.n/s.nodes, s.arch.speeds.intra
	if gpus < 2 {
		return 0, 0, 0
	}
	heads = min(gpus, maxNVLSHeads)
	across := func(speed float64) bool { return true }
	if s.nodes > 1 {
		heads, speeds = min(heads, s.graph.ways), s.arch.speeds.inter
		nics := s.nics()
		across = func(speed float64) bool { return fits(nics, speed) >= heads }
	}
	for i, speed := range speeds {
		if speed*float64(heads+1) > s.graph.egress || !across(speed) {
			continue
		}
		raised := speed
		for ; i > 0 && raised < 2*speed && across(speeds[i-1]); i-- {
			raised = speeds[i-1]
		}
		return heads, float32(speed), float32(raised)
	}
	return 0, 0, 0
}
