package verify

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Memory is the buffers of all ranks with what every chunk holds, for packages
// that execute programs of another form than the IR: they move values between
// Cells and have the outcome judged as Check judges a program's.
type Memory struct{ m *memory }

// Value is what a chunk holds. Equal values have equal numbers.
type Value = value

// Garbage is the value of memory that nothing wrote.
const Garbage = garbage

// NewMemory lays out the buffers of a collective, with some chunks of scratch a
// rank, and fills the inputs. Findings go to r.
func NewMemory(col collective.Collective, scratch []int, r *Report) *Memory {
	p := &ir.Program{Collective: col.Spec, GPUs: make([]ir.GPU, col.Ranks)}
	for g := range p.GPUs {
		p.GPUs[g].Scratch = scratch[g]
	}
	return &Memory{(&checker{p: p, r: r, col: col}).newMemory()}
}

// Cells returns all chunks of all buffers.
func (m *Memory) Cells() []Value { return m.m.cells }

// At returns the cell of a chunk under Collective.Place.
func (m *Memory) At(rank int, b collective.Buffer, index int) int {
	return int(m.m.base[3*rank+int(b)]) + index
}

// Where returns the rank, buffer and index of a cell.
func (m *Memory) Where(cell int) (rank int, b collective.Buffer, index int) {
	i := 0
	for lo, hi := 0, len(m.m.base); lo < hi; {
		if mid := (lo + hi) / 2; int(m.m.base[mid]) <= cell {
			i, lo = mid, mid+1
		} else {
			hi = mid
		}
	}
	return i / 3, collective.Buffer(i % 3), cell - int(m.m.base[i])
}

// Add returns the value of a reduced with b.
func (m *Memory) Add(a, b Value) Value { return m.m.values.add(a, b) }

// Judge compares the outputs with what the collective wants.
func (m *Memory) Judge() { m.m.judge() }

// Clobbered warns of an input that an out-of-place program wrote into.
func (m *Memory) Clobbered() { m.m.clobbered() }

// NewReport returns a report of at most most findings, 100 for 0.
func NewReport(most int) *Report {
	if most <= 0 {
		most = 100
	}
	return &Report{max: most, Instructions: map[string]int{}}
}

// Add keeps a finding, or counts it where there are enough.
func (r *Report) Add(f Finding) { r.add(f) }

// Full reports whether further findings would only be counted.
func (r *Report) Full() bool { return r.full() }
