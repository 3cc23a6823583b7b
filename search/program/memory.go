package program

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

// Memory is how many bytes a search may use; 0: no limit.
type Memory int64

// Programs is the memory for programs, in bytes; without a limit there is enough for all.
func (m Memory) Programs() int64 {
	if m == 0 {
		return math.MaxInt64 / 4
	}
	return int64(max(m/4*3-processBytes, 1))
}

// Solver is how many bytes a solver may use: 2 GiB, or a quarter of the limit; without one 0,
// which is a solver's own.
func (m Memory) Solver() int64 {
	if m == 0 {
		return 0
	}
	return int64(min(max(m/4, 64<<20), 2<<30))
}

// Operations is how many operations a program may have, those of all instances together, to
// be traced, compiled and verified.
func (m Memory) Operations() int64 { return m.Programs() / compiledBytes }

// NoRoom returns the message that a number of operations needs more memory, and how much.
func (m Memory) NoRoom(operations int64) string {
	return m.refuse(operations*compiledBytes, fmt.Sprintf("%d operations", operations)).Detail
}

// refuse refuses something that takes more bytes than there are; what names it.
func (m Memory) refuse(takes int64, what string) *Refusal {
	return &Refusal{Reason: NoMemory, Detail: fmt.Sprintf("about %v of memory for %s: want a limit of %v, and it is %v (--memory)",
		rounded(takes), what, rounded((takes+processBytes)/3*4), units.Bytes(m))}
}

// rounded is a size as people say it: two digits of a unit.
func rounded(n int64) units.Bytes {
	unit := int64(1)
	for n/unit >= 10<<10 {
		unit <<= 10
	}
	return units.Bytes((n + unit - 1) / unit * unit)
}

// Simulated is the memory that the simulator takes for a program, in bytes.
func Simulated(p *ir.Program) int64 {
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

// Trials is how many programs may be simulated at the same time, at most jobs, so that the
// simulators of all have room beside the programs.
func (m Memory) Trials(programs []*ir.Program, jobs int) int {
	if m == 0 {
		return jobs
	}
	left, largest := m.Programs(), int64(1)
	for _, p := range programs {
		takes := Simulated(p)
		left, largest = left-(takes-simulatorBytes)/2, max(largest, takes)
	}
	return int(min(max(left/largest, 1), int64(max(jobs, 1))))
}
