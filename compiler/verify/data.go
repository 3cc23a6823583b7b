package verify

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// data executes the steps in the order found by completes and compares the
// outputs with the postcondition.
func (c *checker) data() {
	m := c.newMemory()
	garbageRead := int32(-1)
	for _, s := range c.order {
		if m.execute(s) && garbageRead < 0 {
			garbageRead = s
		}
	}
	if garbageRead >= 0 {
		g, t, i := c.where(garbageRead)
		c.r.findingAt(Lint, Warning, g, t, i, "%s is of memory that nothing wrote", describe(c.step(garbageRead)))
	}
	if !c.o.AnyResult {
		m.CheckOutputs()
	}
	m.Clobbered()
}

// fetch returns the values of a place: the memory itself if its chunks are
// contiguous, otherwise a copy in *room, valid until the next use of room.
func (m *Memory) fetch(gpu int, l ir.Loc, count int32, room *[]value) []value {
	cells := m.cells[m.base[3*gpu+int(l.Buf)]:]
	if l.Contiguous(count) {
		return cells[l.Off : int64(l.Off)+int64(count)]
	}
	*room = (*room)[:0]
	for i := range count {
		*room = append(*room, cells[l.At(i)])
	}
	return *room
}

func (m *Memory) store(gpu int, l ir.Loc, chunks []value) {
	cells := m.cells[m.base[3*gpu+int(l.Buf)]:]
	if l.Contiguous(int32(len(chunks))) {
		copy(cells[l.Off:], chunks)
		return
	}
	for i, x := range chunks {
		cells[l.At(int32(i))] = x
	}
}

// execute executes step s, reading all chunks before it writes any. It reports
// whether s used uninitialised memory.
func (m *Memory) execute(s int32) (usedGarbage bool) {
	step := m.c.step(s)
	if step.Op == ir.Nop {
		return false
	}
	gpu := int(m.c.tbGPU[m.c.stepTB[s]])
	var out []value
	if step.Op.Receives() {
		out = m.moving.take(m.c.sender[m.c.stepTB[s]], step.Count)
	}
	if step.Op.ReadsSrc() {
		src := m.fetch(gpu, step.Src, step.Count, &m.read[0])
		for _, x := range src {
			usedGarbage = usedGarbage || x == garbage
		}
		other := out
		if step.Op == ir.Reduce {
			other = m.fetch(gpu, step.Dst, step.Count, &m.read[1])
		}
		if step.Op.Reduces() {
			m.sum = m.sum[:0]
			for i, x := range src {
				usedGarbage = usedGarbage || other[i] == garbage && step.Op == ir.Reduce
				m.sum = append(m.sum, m.values.add(x, other[i]))
			}
			out = m.sum
		} else {
			out = src
		}
	}
	if step.Op.WritesDst() {
		m.store(gpu, step.Dst, out)
	}
	if step.Op.Sends() {
		m.moving.put(m.c.stepTB[s], out)
	}
	return usedGarbage
}

// CheckOutputs compares the outputs with the collective's postcondition.
func (m *Memory) CheckOutputs() {
	c := m.c
	whole := make([]fingerprint, c.col.LoopChunks()) // by index: the reduction over all ranks, once known
	for g := range c.p.GPUs {
		for i := range c.col.OutChunks(g) {
			want := c.col.Want(g, i)
			if want.Kind == collective.WantNothing {
				continue
			}
			b, at := c.col.Place(g, collective.Out, i)
			got := m.cells[m.At(g, b, at)]
			right := got != garbage
			switch {
			case !right:
			case want.Kind == collective.WantInput:
				right = got == m.values.input(want.Rank, want.Index)
			case want.Kind == collective.WantSum:
				right = m.values.print(got) == m.sumOf(want.Of)
			default:
				if whole[want.Index] == (fingerprint{}) {
					whole[want.Index] = m.reduction(want.Index)
				}
				right = m.values.print(got) == whole[want.Index]
			}
			if !right {
				m.wrong(g, i, got, want)
			}
		}
	}
}

// reduction returns the fingerprint of the reduction of input chunk index over all
// ranks.
func (m *Memory) reduction(index int) (p fingerprint) {
	for r := range m.c.col.Ranks {
		p = p.plus(m.values.print(m.values.input(r, index)))
	}
	return p
}

// sumOf returns the fingerprint of the reduction of input chunks.
func (m *Memory) sumOf(of []collective.Place) (p fingerprint) {
	for _, at := range of {
		p = p.plus(m.values.print(m.values.input(at.Rank, at.Index)))
	}
	return p
}

// wrong reports a wrong output chunk, or only counts it once the report is
// full.
func (m *Memory) wrong(gpu, index int, got value, want collective.Want) {
	v, ranks := m.values, m.c.col.Ranks
	switch {
	case m.c.r.full():
		m.c.r.Add(Finding{Kind: WrongResult, Severity: Error})
	case want.Kind == collective.WantInput:
		m.c.r.findingAt(WrongResult, Error, gpu, -1, -1, "out[%d] ends as %s; want %s", index, v.describe(got), v.describe(v.input(want.Rank, want.Index)))
	case want.Kind == collective.WantSum:
		m.c.r.findingAt(WrongResult, Error, gpu, -1, -1, "out[%d] ends as %s; want the reduction of %s", index, v.describe(got), places(want.Of))
	default:
		m.c.r.findingAt(WrongResult, Error, gpu, -1, -1, "out[%d] ends as %s; want the reduction of input chunk %d of every rank",
			index, v.describeReduction(got, want.Index, ranks), want.Index)
	}
}

// places formats input chunks: the first eight.
func places(of []collective.Place) string {
	words := make([]string, 0, 9)
	for i, p := range of {
		if i == 8 {
			words = append(words, fmt.Sprintf("%d more", len(of)-i))
			break
		}
		words = append(words, fmt.Sprintf("%d of rank %d", p.Index, p.Rank))
	}
	return "input chunks " + strings.Join(words, ", ")
}

// Clobbered warns of an out-of-place program that writes to its input. NCCL's
// own collectives preserve the input. The runtimes that load programs do not
// require it, so this is only a warning.
func (m *Memory) Clobbered() {
	if m.c.col.InPlace {
		return
	}
	for g := range m.c.p.GPUs {
		for i := range m.c.col.InChunks(g) {
			if m.cells[m.At(g, collective.In, i)] != m.values.input(g, i) {
				m.c.r.findingAt(Lint, Warning, g, -1, -1, "in[%d] is overwritten, though the call is out of place", i)
				return
			}
		}
	}
}

// mailbox holds the messages in flight: a queue for each sending threadblock.
// Messages before its head have been taken.
type mailbox struct {
	queues [][]value
	heads  []int
}

func (b *mailbox) put(sender int32, chunks []value) {
	q, h := b.queues[sender], b.heads[sender]
	if h > len(q)/2 {
		q = q[:copy(q, q[h:])]
		b.heads[sender] = 0
	}
	b.queues[sender] = append(q, chunks...)
}

// take returns a message, which is valid until the next put for the same sender.
func (b *mailbox) take(sender, count int32) []value {
	h := b.heads[sender]
	b.heads[sender] += int(count)
	return b.queues[sender][h : h+int(count)]
}
