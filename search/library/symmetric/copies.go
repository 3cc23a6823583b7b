package symmetric

// byCopies reports whether copy engines do a call by themselves, which those of Blackwell do with all-gathers of many elements:
// elements, whatever their size. Without multicast, TMA keeps to its kernels up to four times as many.
func (r *Release) byCopies(s *System, c *Call) bool {
	above := r.copies
	if r.tma && !(s.Multicast && s.Team >= r.multicastFrom) {
		above *= 4
	}
	return c.Collective == "allgather" && s.Capability >= blackwell && s.Team == s.Ranks && c.Recv && c.Count > above
}

// copiesUS is the time of the copies. From 2.31 on the switches hand them to all ranks where its model takes that to be faster.
func (r *Release) copiesUS(s *System, c *Call) float64 {
	us := r.enginesUS(s, c, false)
	if r.tma && s.Multicast && s.Team >= r.multicastFrom {
		us = min(us, r.enginesUS(s, c, true))
	}
	return us
}

const (
	staging    = 106_000   // bytes a microsecond of two engines, over PCIe
	batch      = 8         // copies between synchronisations, in a graph
	batchBytes = 512 << 20 // of all copies, from which they are synchronised
)

// engines is a row of the copy engines' model (copies.tsv).
type engines struct{ us, rankUS, rate float64 } // rate in bytes a microsecond

// enginesUS is what NCCL's model of 2.31 takes an all-gather by copy engines to last, with a driver of CUDA 13.4 or later.
// Older releases have none.
func (r *Release) enginesUS(s *System, c *Call, multicast bool) float64 {
	n, bytes := s.Ranks, float64(c.bytes())
	how := "uc"
	if multicast {
		how = "mc"
	}
	if c.Captured {
		how += "_graph"
	}
	e := lookup(models().copies, r, s, how)
	floor := e.us + e.rankUS*float64(n)
	if multicast {
		return floor + bytes*float64(n)/e.rate
	}
	us := floor + bytes*float64(n-1)/e.rate
	switch copies := n; {
	case c.Captured:
		if c.InPlace {
			copies--
		}
		if copies > batch && c.bytes()*int64(copies) >= batchBytes {
			blocks := (copies + batch - 1) / batch
			us += floor * float64(blocks-1+1-blocks%2)
		}
	case !c.InPlace && !s.ARM: // a rank's own part goes through the host
		us = max(us, floor+bytes/staging)
	}
	return us
}
