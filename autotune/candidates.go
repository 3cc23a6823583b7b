package autotune

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/topologies"
)

// candidate is a Candidate with properties of its program that every cell needs.
type candidate struct {
	*Candidate
	placement    string
	loopChunks   int
	maxCount     int
	granularity  int64 // bytes: a runtime runs the program only at multiples of it
	threadblocks int
	steps        int // of the longest threadblock
	allSteps     int // of all threadblocks
	stepCounts   []stepCount
	protocols    []topologies.Proto // that the program can be run with
	tried        bool               // some trial has an outcome
	possible     bool               // it has a trial in some cell
	crashes      int                // trials that killed their executor
}

// Reasons why a candidate cannot be run anywhere.
const (
	refusedSlots    = "fifo-slots" // needs more FIFO slots than any protocol has
	refusedProtocol = "protocol"   // no protocol is left for it
	refusedPoint    = "point"      // a reference that belongs to none of the sizes
	refusedRuntime  = "runtime"    // the problem's runtime would run it at none of the sizes
)

// prepare returns one candidate for each program, in order, with the protocols that it
// can run with. Candidates without any are counted in refused, by reason.
func prepare(p *Problem, elem int64, does func(topologies.Proto) bool, given []Candidate) (kept []*candidate, refused map[string]int, duplicates int, err error) {
	all, duplicates, err := mergeByProgram(elem, given)
	if err != nil {
		return nil, nil, 0, err
	}
	refused = map[string]int{}
	kept = all[:0]
	for _, c := range all {
		var reason string
		if c.protocols, reason = c.runnableProtocols(p, does); len(c.protocols) == 0 {
			refused[reason]++
			continue
		}
		kept = append(kept, c)
	}
	return kept, refused, duplicates, nil
}

// mergeByProgram merges candidates that have the same program. The first one that is
// no reference stands for them with the baselines of all; the merged candidate is a
// reference only if all are.
func mergeByProgram(elem int64, given []Candidate) (all []*candidate, duplicates int, err error) {
	byHash := map[string]*candidate{}
	for i := range given {
		g := given[i]
		if first := byHash[g.Hash]; first != nil {
			duplicates++
			points := append(slices.Clone(first.Baseline), g.Baseline...)
			if first.Reference {
				first.Candidate = &g // a candidate's name takes precedence over a reference's
			}
			first.Baseline = points
			continue
		}
		c, err := newCandidate(elem, &g)
		if err != nil {
			return nil, 0, err
		}
		byHash[g.Hash] = c
		all = append(all, c)
	}
	return all, duplicates, nil
}

// newCandidate computes the properties of a candidate's program. A native algorithm
// has no program.
func newCandidate(elem int64, g *Candidate) (*candidate, error) {
	spec := g.Collective
	if g.Program != nil {
		spec = g.Program.Collective
	}
	col, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	c := &candidate{Candidate: g, placement: "out", loopChunks: col.LoopChunks(), maxCount: 1, granularity: elem}
	if g.Program != nil {
		c.maxCount, c.granularity = maxCount(g.Program), msccl.Granularity(g.Program, elem)
		c.threadblocks, c.steps, c.allSteps = g.Program.MaxThreadblocks(), g.Program.MaxSteps(), g.Program.Steps()
		c.stepCounts = stepCounts(g.Program)
	}
	if spec.InPlace {
		c.placement = "in"
	}
	return c, nil
}

// runnableProtocols lists the protocols to try a candidate with, including those of its
// baselines. If there are none it gives the reason.
func (c *candidate) runnableProtocols(p *Problem, does func(topologies.Proto) bool) (protocols []topologies.Proto, reason string) {
	wanted := c.allowedProtocols(p)
	if c.Chooses {
		return wanted, "" // one trial, whichever protocol it chooses
	}
	for _, b := range c.Baseline {
		if !slices.Contains(wanted, b.Protocol) {
			wanted = append(slices.Clone(wanted), b.Protocol)
		}
	}
	reason = refusedProtocol
	for _, proto := range topologies.AllProtocols {
		switch {
		case !slices.Contains(wanted, proto) || !does(proto) || !p.Topology.Has(proto):
		case c.SlotsNeeded > p.Topology.Protocols[proto].Slots:
			reason = refusedSlots
		default:
			protocols = append(protocols, proto)
		}
	}
	return protocols, reason
}

func (c *candidate) allowedProtocols(p *Problem) []topologies.Proto {
	if c.Chooses {
		return []topologies.Proto{topologies.Simple}
	}
	if len(c.Protocols) > 0 {
		return c.Protocols
	}
	return p.protocols()
}

// countCandidates sums up what became of candidates. finished: all cells were completed;
// proved: what was left out then can win nowhere.
func (s *Summary) countCandidates(candidates []*candidate, p *Problem, finished, proved bool) {
	for _, c := range candidates {
		switch {
		case c.Reference: // no candidate, only a comparison
		case c.tried:
			s.Tuned++
		case !finished || c.possible && !proved:
			s.Untried++
		case c.possible:
			s.BoundedOut++
		case p.Runtime != "":
			s.Refused[refusedRuntime]++
		default:
			s.Refused[refusedPoint]++
		}
	}
}

// maxCount is the largest count of any step.
func maxCount(p *ir.Program) int {
	n := int32(1)
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			for i := range tb.Steps {
				n = max(n, tb.Steps[i].Count)
			}
		}
	}
	return int(n)
}
