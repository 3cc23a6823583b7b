package ir

import (
	"strings"
	"testing"
)

// Strided steps are split together with the other ends of their messages, and keep their
// waits.
func TestContiguous(t *testing.T) {
	parse := func(text string) *Program {
		p, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct{ name, from, to string }{
		{"a shuffle between waits", `
alltonext over 1 ranks, 6 chunks
gpu 0 scratch 9
  tb 0 ch 0
    0 cpy  in[0] → sc[0]       flagged
  tb 1 ch 0
    0 cpy  in[0:3] → sc[0:3]
    1 cpy  in[0:5:2] → sc[3:6] waits 0.0 flagged
    2 re   in[1:6:2] → sc[3:8:2]
  tb 2 ch 0
    0 cpy  sc[3] → out[0]      waits 0.0 1.1
`, `
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
		{"a chain of messages", `
broadcast over 3 ranks, 4 chunks
gpu 0
  tb 0 send→1 ch 0
    0 s    in[0:2]
    1 s    in[1:4:2]
gpu 1 scratch 4
  tb 0 send→2 recv←0 ch 0
    0 rcs  out[0:2]
    1 rcs  out[2:4]
gpu 2
  tb 0 recv←1 ch 0
    0 r    out[0:2]
    1 r    out[2:4]            flagged
  tb 1 ch 0
    0 cpy  out[2:4] → out[0:2] waits 0.1
`, `
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
		{"sends that nobody receives", `
broadcast over 2 ranks, 4 chunks
gpu 0
  tb 0 send→1 ch 0
    0 s    in[0:3:2]           waits 7.7
gpu 1
`, `
broadcast over 2 ranks, 4 chunks
gpu 0
  tb 0 send→1 ch 0
    0 s    in[0]               waits 7.7
    1 s    in[2]
gpu 1
`},
	} {
		p := parse(c.from)
		before := printed(t, p)
		q, err := Contiguous(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := printed(t, q), printed(t, parse(c.to)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
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
