package verify

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Memory holds the values of all buffers of all ranks, for packages that
// execute programs of another form than the IR: they move values between Cells,
// and check the outcome by the same rules as Check.
type Memory struct{ m *memory }

// Value identifies the content of a chunk.
type Value = value

// Garbage is the value of uninitialised memory.
const Garbage = garbage

// NewMemory lays out the buffers of a collective, with scratch[r] chunks of
// scratch on rank r, and fills the inputs. Findings are added to r.
func NewMemory(col collective.Collective, scratch []int, r *Report) *Memory {
	p := &ir.Program{Collective: col.Spec, GPUs: make([]ir.GPU, col.Ranks)}
	for g := range p.GPUs {
		p.GPUs[g].Scratch = scratch[g]
	}
	return &Memory{(&checker{p: p, r: r, col: col}).newMemory()}
}

// Cells returns all chunks of all buffers. Writing to it changes the memory.
func (m *Memory) Cells() []Value { return m.m.cells }

// At returns the index in Cells of a chunk, after Collective.Place.
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

// Add returns the value of the reduction of a and b.
func (m *Memory) Add(a, b Value) Value { return m.m.values.add(a, b) }

// CheckOutputs compares the outputs with the collective's postcondition.
func (m *Memory) CheckOutputs() { m.m.checkOutputs() }

// Clobbered warns if an out-of-place program wrote to its input.
func (m *Memory) Clobbered() { m.m.clobbered() }

// NewReport returns an empty report of at most most findings, or 100 if most is
// 0.
func NewReport(most int) *Report {
	if most <= 0 {
		most = 100
	}
	return &Report{max: most, Instructions: map[string]int{}}
}

// Add adds a finding, or counts it if the report is full.
func (r *Report) Add(f Finding) { r.add(f) }

// Full reports whether further findings would only be counted.
func (r *Report) Full() bool { return r.full() }
