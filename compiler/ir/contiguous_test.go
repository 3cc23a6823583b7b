package ir

import (
	"bytes"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

func printed(t *testing.T, p *Program) string {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Strided steps are split together with the other ends of their messages, and keep their
// waits.
func TestContiguous(t *testing.T) {
	const in, out, sc = collective.In, collective.Out, collective.Scratch
	at := func(b collective.Buffer, off, stride int32) Loc { return Loc{b, off, stride} }
	program := func(name string, chunks int, gpus ...GPU) *Program {
		return &Program{Collective: collective.Spec{Name: name, Ranks: len(gpus), Chunks: chunks}, GPUs: gpus}
	}
	for _, c := range []struct {
		name string
		from *Program
		to   string
	}{
		{"a shuffle between waits", program("alltonext", 6,
			GPU{Scratch: 9, Threadblocks: []Threadblock{
				{Send: -1, Recv: -1, Steps: []Step{{Op: Copy, Count: 1, Src: at(in, 0, 1), Dst: at(sc, 0, 1), HasDep: true}}},
				{Send: -1, Recv: -1, Steps: []Step{
					{Op: Copy, Count: 3, Src: at(in, 0, 1), Dst: at(sc, 0, 1)},
					{Op: Copy, Count: 3, Src: at(in, 0, 2), Dst: at(sc, 3, 1), Deps: []Dep{{0, 0}}, HasDep: true},
					{Op: Reduce, Count: 3, Src: at(in, 1, 2), Dst: at(sc, 3, 2)},
				}},
				{Send: -1, Recv: -1, Steps: []Step{{Op: Copy, Count: 1, Src: at(sc, 3, 1), Dst: at(out, 0, 1), Deps: []Dep{{0, 0}, {1, 1}}}}},
			}}), `
alltonext over 1 ranks, 6 chunks
gpu 0 scratch 9
  tb 0 ch 0
    0 cpy  in[0] → sc[0]       flagged
  tb 1 ch 0
    0 cpy  in[0:3] → sc[0:3]
    1 cpy  in[0] → sc[3]       waits 0.0
    2 cpy  in[2] → sc[4]
    3 cpy  in[4] → sc[5]       flagged
    4 re   in[1] → sc[3]
    5 re   in[3] → sc[5]
    6 re   in[5] → sc[7]
  tb 2 ch 0
    0 cpy  sc[3] → out[0]      waits 0.0 1.3
`},
		{"a chain of messages", program("broadcast", 4,
			GPU{Threadblocks: []Threadblock{{Send: 1, Recv: -1, Steps: []Step{
				{Op: Send, Count: 2, Src: at(in, 0, 1)}, {Op: Send, Count: 2, Src: at(in, 1, 2)},
			}}}},
			GPU{Scratch: 4, Threadblocks: []Threadblock{{Send: 2, Recv: 0, Steps: []Step{
				{Op: RecvCopySend, Count: 2, Dst: at(out, 0, 1)}, {Op: RecvCopySend, Count: 2, Dst: at(out, 2, 1)},
			}}}},
			GPU{Threadblocks: []Threadblock{
				{Send: -1, Recv: 1, Steps: []Step{{Op: Recv, Count: 2, Dst: at(out, 0, 1)}, {Op: Recv, Count: 2, Dst: at(out, 2, 1), HasDep: true}}},
				{Send: -1, Recv: -1, Steps: []Step{{Op: Copy, Count: 2, Src: at(out, 2, 1), Dst: at(out, 0, 1), Deps: []Dep{{0, 1}}}}},
			}}), `
broadcast over 3 ranks, 4 chunks
gpu 0
  tb 0 send→1 ch 0
    0 s    in[0:2]
    1 s    in[1]
    2 s    in[3]
gpu 1 scratch 4
  tb 0 send→2 recv←0 ch 0
    0 rcs  out[0:2]
    1 rcs  out[2]
    2 rcs  out[3]
gpu 2
  tb 0 recv←1 ch 0
    0 r    out[0:2]
    1 r    out[2]
    2 r    out[3]              flagged
  tb 1 ch 0
    0 cpy  out[2:4] → out[0:2] waits 0.2
`},
		{"sends that nobody receives", program("broadcast", 4,
			GPU{Threadblocks: []Threadblock{{Send: 1, Recv: -1, Steps: []Step{{Op: Send, Count: 2, Src: at(in, 0, 2), Deps: []Dep{{7, 7}}}}}}},
			GPU{}), `
broadcast over 2 ranks, 4 chunks
gpu 0
  tb 0 send→1 ch 0
    0 s    in[0]               waits 7.7
    1 s    in[2]
gpu 1
`},
	} {
		p := c.from
		before := printed(t, p)
		q, err := Contiguous(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, q); got != strings.TrimPrefix(c.to, "\n") {
			t.Errorf("%s: got\n%s\nwant%s", c.name, got, c.to)
		}
		if printed(t, p) != before {
			t.Errorf("%s: the program itself is changed", c.name)
		}
	}
	if p := pair(); true {
		if q, err := Contiguous(p); q != p || err != nil {
			t.Errorf("a contiguous program is copied, or refused: %v", err)
		}
	}
	p := pair()
	p.GPUs[0].Threadblocks[1].Steps[0].Count, p.GPUs[0].Threadblocks[1].Steps[0].Src.Stride = maxSplitSteps+1, 2
	if _, err := Contiguous(p); err == nil || !strings.Contains(err.Error(), "want at most 16777216") {
		t.Errorf("no limit: %v", err)
	}
}
