package templates

import (
	"math/big"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// measured is what a compiled program costs, counted in its instructions.
type measured struct {
	steps        int      // most messages that something in an output has been through
	wire         *big.Rat // what all ranks send, as a part of the size
	threadblocks int
}

// measure executes a program on numbers: every chunk knows through how many
// messages it came.
func measure(t rapid.TB, p *ir.Program) measured {
	t.Helper()
	c, err := collective.New(p.Collective)
	if err != nil {
		t.Fatal(err)
	}
	type connection struct{ from, to, channel int }
	sent := map[connection][][]int{}
	at := make([][3][]int, len(p.GPUs)) // by rank and buffer: messages so far
	next := make([][]int, len(p.GPUs))  // by rank and threadblock: the step to come
	left := 0
	for r := range p.GPUs {
		for b := range at[r] {
			at[r][b] = make([]int, c.BufferChunks(r, collective.Buffer(b)))
		}
		at[r][collective.Scratch] = make([]int, p.GPUs[r].Scratch)
		next[r] = make([]int, len(p.GPUs[r].Threadblocks))
		for _, tb := range p.GPUs[r].Threadblocks {
			left += len(tb.Steps)
		}
	}
	chunks := int64(0)
	try := func(r, tb int) bool {
		b := &p.GPUs[r].Threadblocks[tb]
		if next[r][tb] == len(b.Steps) {
			return false
		}
		s := &b.Steps[next[r][tb]]
		for _, d := range s.Deps {
			if next[r][d.TB] <= int(d.Step) {
				return false
			}
		}
		value := make([]int, s.Count)
		if s.Op.Receives() {
			from := connection{b.Recv, r, b.Channel}
			if len(sent[from]) == 0 {
				return false
			}
			value, sent[from] = sent[from][0], sent[from][1:]
		}
		if s.Op.ReadsSrc() {
			for i := range value {
				value[i] = max(value[i], at[r][s.Src.Buf][s.Src.At(int32(i))])
			}
		}
		if s.Op.WritesDst() {
			for i := range value {
				d := &at[r][s.Dst.Buf][s.Dst.At(int32(i))]
				if s.Op == ir.Reduce {
					value[i] = max(value[i], *d)
				}
				*d = value[i]
			}
		}
		if s.Op.Sends() {
			chunks += int64(s.Count)
			message := make([]int, len(value))
			for i, n := range value {
				message[i] = n + 1
			}
			to := connection{r, b.Send, b.Channel}
			sent[to] = append(sent[to], message)
		}
		next[r][tb]++
		return true
	}
	for moved := true; moved; {
		moved = false
		for r := range p.GPUs {
			for tb := range next[r] {
				for try(r, tb) {
					moved = true
					left--
				}
			}
		}
	}
	if left > 0 {
		t.Fatalf("%d steps were never done", left)
	}
	m := measured{wire: big.NewRat(chunks, int64(c.LoopChunks())), threadblocks: p.MaxThreadblocks()}
	for r := range p.GPUs {
		for i := range c.OutChunks(r) {
			if c.Want(r, i).Kind != collective.WantNothing {
				b, j := c.Place(r, collective.Out, i)
				m.steps = max(m.steps, at[r][b][j])
			}
		}
	}
	return m
}
