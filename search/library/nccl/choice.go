package nccl

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// Choice is what the vendor's library would run, as a program of ours: a
// family's routing with Parameters, in Channels copies.
type Choice struct {
	// Family is ring, double-binary-tree, chain (the ring of broadcast and
	// reduce), direct, nvls, nvlstree (over nodes), pat, all-pairs, or symmetric (of kernels on
	// windows).
	Family string
	// Lacks says why no program of ours can be what the library runs; empty
	// where one can.
	Lacks string
	// ClockUS is the time of the call by a closed form, in microseconds, where Lacks is
	// not empty; 0 where none is known.
	ClockUS float64
	// ExtraUS is what the library's call takes beyond the same instructions, run as a
	// program, in microseconds: below 0 where it takes less, 0 where nothing is known.
	ExtraUS float64
	// LeastUS is what the library's call takes at least, in microseconds; 0 where nothing
	// is known.
	LeastUS float64
	// TurnsUS is what the busiest channel takes for its peers one after another, in
	// microseconds, where peers share channels; 0 where none do. No program here shares them.
	TurnsUS float64
	// Parameters of the family: rings or trees that leave a node by different
	// GPUs. The data is divided between them.
	Parameters map[string]int
	Protocol   topologies.Proto
	// Channels is how many copies of the routing run side by side, each over
	// its part of the data. Times the rings (twice the trees) it is what the
	// library calls channels, rounded up.
	Channels int
	// TileBytes is the library's chunk where it is not the one of its rings; 0
	// where it is.
	TileBytes int64
	// Algorithm is NCCL's name of it, for collectives of which it asks a tuner; "" of others,
	// and of files.
	Algorithm string
	// Most is how many channels it asks for at most, for the size alone: the communicator has
	// no more than its own.
	Most int
	// Blocks is how many threadblocks of a GPU run it, one a channel; 0 where nothing says it.
	Blocks int
	// Kernel is NCCL's name of a kernel for windows, such as AllGather_TmaSTMC, or "copy engine";
	// "" of general algorithms.
	Kernel string
	// CTAs is how many threadblocks of a GPU a kernel for windows runs; 0 of copy engines.
	CTAs int
	// Evidence is that of ClockUS: Unknown where that is 0.
	Evidence Evidence
	// ModelUS is the library's own estimate of the time, in microseconds; 0 of a file, which
	// it takes without one.
	ModelUS float64
}

// Ways is how many different rings or trees a choice has.
func (c *Choice) Ways() int { return max(c.Parameters["rings"], c.Parameters["trees"], 1) }

// ForcedChoices returns the library's choice by its own cost model, then the same with fewer
// different routings, then its choice without that algorithm. The later ones stand in
// where no program of ours implements the first. Fewer than 2 ranks, ranks that are not
// t's, and bytes below 1 are errors. f narrows what it chooses among; that nothing is left is an
// error, too.
func ForcedChoices(t *topologies.Topology, c collective.Collective, bytes int64, f Forced) ([]Choice, error) {
	return NewSystem(t, nil, nil).Choices(c, bytes, f)
}

// Choices is ForcedChoices on the system.
func (s *System) Choices(c collective.Collective, bytes int64, f Forced) ([]Choice, error) {
	t := s.t
	switch {
	case c.Ranks != len(t.Ranks):
		return nil, fmt.Errorf("%s over %d ranks on %s of %d: want as many", c.Name, c.Ranks, t.Name, len(t.Ranks))
	case c.Ranks < 2:
		return nil, fmt.Errorf("%s over one rank: nothing to choose", c.Name)
	case bytes < 1:
		return nil, fmt.Errorf("%s of %d bytes: want at least 1", c.Name, bytes)
	}
	call := Call{c.Name, c.InPlace, bytes, f.Op, f.DType, f.Registered}
	var each [][]Choice
	if s.fork != nil {
		for _, first := range s.fork.Before(call, f, func(p topologies.Proto) bool { return f.allows(Ring, p, s) }) {
			if f.leaves([]Choice{first}) {
				each = append(each, []Choice{first})
			}
		}
	}
	if peers, ok := directs[c.Name]; ok {
		return append(slices.Concat(each...), pointToPoint{s}.choice(peers(c.Ranks), bytes, f)), nil
	}
	for _, chosen := range s.ranked(call, f) {
		if programs := programsOf(s, chosen, call, f); f.leaves(programs) {
			each = append(each, programs)
		}
	}
	if len(each) == 0 {
		return nil, fmt.Errorf("%s: the library has no algorithm for it", c.Name)
	}
	if f.Registered == Window {
		if first, ok := (windows{s}).choice(c, bytes, f, &each[0][0]); ok && f.leaves([]Choice{first}) {
			each = slices.Insert(each, 0, []Choice{first})
		}
	}
	return slices.Concat(each...), nil
}

// programsOf are the choices that an algorithm comes to, with as many different routings as there are, then
// with fewer.
func programsOf(s *System, chosen Selected, call Call, f Forced) []Choice {
	a, p, channels := rowOf(chosen.Algo, call.Collective), chosen.Protocol, chosen.Channels
	most := channels
	if s.fork == nil {
		most = min(channels, compiler.DefaultMaxChannels) // NCCL's loaders take no more of a program
	}
	programs := a.programs(s, most)
	for i := range programs {
		programs[i].Protocol, programs[i].ModelUS = p, chosen.US
		programs[i].Algorithm, programs[i].Most, programs[i].Blocks = a.String(), s.most(a, channels), channels
		programs[i].TileBytes, programs[i].ExtraUS = s.tile(a, p, channels, call.Bytes), s.extra(a, call, p, channels, f)
		if a.clock != nil {
			programs[i].ClockUS, programs[i].Evidence = a.clock(s, call), a.evidence
		}
	}
	return programs
}

// ranked are the algorithms of a call that f leaves, the least time first.
func (s *System) ranked(call Call, f Forced) (all []Selected) {
	if s.fork == nil {
		return s.tuning.Ranked(call, func(a Algo, p topologies.Proto) bool { return f.allows(a, p, s) })
	}
	for _, a := range algorithms {
		if !a.runs(call.Collective) {
			continue
		}
		best := Selected{Algo: a.Algo, US: math.Inf(1)}
		for _, p := range topologies.AllProtocols {
			if !f.allows(a.Algo, p, s) {
				continue
			}
			if us := (settable{s}).us(a, p, call); us < best.US {
				best.US, best.Protocol = us, p
			}
		}
		if len(f.Protocols) == 0 {
			if only, ok := s.fork.Only(call.Collective, call.Bytes); ok && f.allows(a.Algo, only, s) {
				best.Protocol = only
			}
		}
		if !math.IsInf(best.US, 1) {
			best.Channels = settable{s}.filled(0, a, best.Protocol, call)
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, func(a, b Selected) int { return cmp.Compare(a.US, b.US) })
	return all
}

// most is Choice.Most: NVLS takes its channels whatever the size.
func (s *System) most(a *algorithm, channels int) int {
	if a.clock == nil && channels < s.tuning.Channels {
		return channels
	}
	return maxChannels
}

// copies is how many times a routing over that many channels must be there to
// have all of the library's.
func copies(channels, of int) int { return (channels + of - 1) / of }
