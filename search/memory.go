package search

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
)

// The memory that programs take, in bytes, of that which a search may use
// (Options.Memory). The figures are the most measured of any family
// (docs/measurements/memory.md). They are constants because they decide which candidates
// a search with a limit has, on every machine.
//
//	limit ┤ process ┤ programs kept ┤ the one that is made or run ┤ a quarter, for garbage
const (
	processBytes    = 96 << 20
	tracedBytes     = 160 // of an operation in a traced program
	compiledBytes   = 700 // of an operation while it is traced, compiled and verified
	keptBytes       = 144 // of an operation in a program that is kept to be tried
	simulatorBytes  = 32 << 20
	stepBytes       = 250  // of a program's step in the simulator
	connectionBytes = 2000 // of a connection between two ranks there
)

// programMemory is the memory for programs, in bytes; without a limit there is enough for all.
func (o *Options) programMemory() int64 {
	if o.Memory == 0 {
		return math.MaxInt64 / 4
	}
	return max(o.Memory/4*3-processBytes, 1)
}

// SolverMemory is how many bytes a solver may use where the command may use limit: 2
// GiB, or a quarter of it; without a limit 0, which is a solver's own.
func SolverMemory(limit int64) int64 {
	if limit == 0 {
		return 0
	}
	return min(max(limit/4, 64<<20), 2<<30)
}

// MostOperations is how many operations a program may have, those of all instances
// together, to be traced, compiled and verified within a limit of memory in bytes; 0 is
// no limit.
func MostOperations(limit int64) int64 { return (&Options{Memory: limit}).mostOperations() }

func (o *Options) mostOperations() int64 { return o.programMemory() / compiledBytes }

// NoRoom returns the message that a number of operations needs more memory than a limit
// in bytes, and how much.
func NoRoom(operations, limit int64) string {
	return (&Options{Memory: limit}).noMemory(operations*compiledBytes, fmt.Sprintf("%d operations", operations)).Detail
}

// noMemory refuses something that takes more bytes than there are; what names it.
func (o *Options) noMemory(takes int64, what string) *Refusal {
	return &Refusal{Reason: NoMemory, Detail: fmt.Sprintf("about %v of memory for %s: want a limit of %v, and it is %v (--memory)",
		rounded(takes), what, rounded((takes+processBytes)/3*4), units.Bytes(o.Memory))}
}

// noticeMemory tells the user how many candidates were refused for want of memory, if any.
func (o *Options) noticeMemory(refusals []Refusal) {
	if n := ByReason(refusals)[string(NoMemory)]; n > 0 {
		o.Observer.notice(fmt.Sprintf("%s refused for want of memory: the limit is %v, and --memory sets another", units.Count(n, "candidate"), units.Bytes(o.Memory)))
	}
}

// rounded is a size as people say it: two digits of a unit.
func rounded(n int64) units.Bytes {
	unit := int64(1)
	for n/unit >= 10<<10 {
		unit <<= 10
	}
	return units.Bytes((n + unit - 1) / unit * unit)
}

// refuseUnaffordable refuses the drafts that there is no memory for, in the order in which they
// come, those for comparison first: all that are kept take at most half of the room,
// and each must fit beside them while it is made. What is foreseen depends on the
// drafts and the limit alone.
func (e *enumeration) refuseUnaffordable(drafts []*draft) []*built {
	all := make([]*built, len(drafts))
	if e.options.Memory == 0 {
		return all
	}
	placements := int64(max(e.of, 1))
	room := e.options.programMemory() / placements
	var kept, largest int64
	for _, compared := range []bool{true, false} {
		for i, d := range drafts {
			if len(d.points) > 0 != compared {
				continue
			}
			n := int64(d.operations())
			stays, most := kept+n*keptBytes, max(largest, n*compiledBytes)
			takes, what := n*compiledBytes, fmt.Sprintf("%d operations", n)
			if takes <= room {
				takes, what = max(stays+most, 2*stays), what+" beside the candidates before it"
			}
			if takes > room {
				all[i] = &built{refusal: e.options.noMemory(takes*placements, what)}
				continue
			}
			kept, largest = stays, most
		}
	}
	return all
}

// simulated is the memory that the simulator takes for a program.
func simulated(p *ir.Program) int64 {
	steps, connections := 0, 0
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			tb := &p.GPUs[g].Threadblocks[t]
			steps += len(tb.Steps)
			if tb.Send >= 0 {
				connections++
			}
		}
	}
	return simulatorBytes + int64(steps)*stepBytes + int64(connections)*connectionBytes
}

// unsimulated refuses a program that there is no memory to simulate.
func (e *enumeration) unsimulated(p *ir.Program) *Refusal {
	if e.options.Memory == 0 || e.options.Executor != "sim" {
		return nil
	}
	if takes := 2 * simulated(p); takes > e.options.programMemory() {
		return e.options.noMemory(takes, "its simulation beside the other candidates")
	}
	return nil
}

// parallelTrials is how many trials may be made at the same time, at most jobs, so that
// the simulators of all have room beside the programs.
func (s *session) parallelTrials(space *Space, jobs int) int {
	if s.options.Memory == 0 || s.options.Executor != "sim" {
		return jobs
	}
	left, largest := s.options.programMemory(), int64(1)
	for i := range space.Candidates {
		p := space.Candidates[i].Program
		if p == nil {
			continue
		}
		takes := simulated(p)
		left, largest = left-(takes-simulatorBytes)/2, max(largest, takes)
	}
	return int(min(max(left/largest, 1), int64(max(jobs, 1))))
}
