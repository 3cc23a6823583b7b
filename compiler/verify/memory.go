package verify

import (
	"sort"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Memory holds the values of all buffers of all ranks, and the messages in flight. It
// serves packages that execute programs of another form than the IR, too: they move
// values between Cells, and check the outcome by the same rules as Check.
type Memory struct {
	c      *checker
	values *values
	cells  []value
	base   []int // by rank and buffer, three a rank: index of its first cell
	moving mailbox
	sum    []value    // scratch for one step
	read   [2][]value // … for what it reads where chunks lie apart: src, dst
}

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
	return (&checker{p: p, r: r, col: col}).newMemory()
}

func (c *checker) newMemory() *Memory {
	m := &Memory{c: c, values: newValues(c.col), base: make([]int, 0, 3*len(c.p.GPUs))}
	n := 0
	for g := range c.p.GPUs {
		in, out := c.col.BufferChunks(g, collective.In), c.col.BufferChunks(g, collective.Out)
		m.base = append(m.base, n, n+in, n+in+out)
		n += in + out + c.p.GPUs[g].Scratch
	}
	m.cells = make([]value, n)
	m.moving = mailbox{queues: make([][]value, len(c.tbGPU)), heads: make([]int, len(c.tbGPU))}
	for g := range c.p.GPUs {
		for i := range c.col.InChunks(g) {
			b, at := c.col.Place(g, collective.In, i)
			m.cells[m.At(g, b, at)] = m.values.input(g, i)
		}
	}
	return m
}

// Cells returns all chunks of all buffers. Writing to it changes the memory.
func (m *Memory) Cells() []Value { return m.cells }

// At returns the index in Cells of a chunk, after Collective.Place.
func (m *Memory) At(rank int, b collective.Buffer, index int) int {
	return m.base[3*rank+int(b)] + index
}

// Where returns the rank, buffer and index of a cell.
func (m *Memory) Where(cell int) (rank int, b collective.Buffer, index int) {
	i := sort.Search(len(m.base), func(i int) bool { return m.base[i] > cell }) - 1
	return i / 3, collective.Buffer(i % 3), cell - m.base[i]
}

// Add returns the value of the reduction of a and b.
func (m *Memory) Add(a, b Value) Value { return m.values.add(a, b) }
